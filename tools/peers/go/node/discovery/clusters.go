package main

import (
	"slices"
	"sync"
	"time"

	"github.com/siderolabs/discovery-api/api/v1alpha1/server/pb"
)

const backlog = 256 // changes a watcher may be behind before it is cut off and has to start again

type member struct {
	affiliate *pb.Affiliate // replaced as a whole, never changed: it may be on its way to watchers
	until     time.Time
}

type cluster struct {
	members  map[string]member
	watchers map[chan *pb.WatchResponse]struct{}
}

type clusters struct {
	mutex sync.Mutex
	byID  map[string]*cluster
}

func newClusters() *clusters {
	return &clusters{byID: map[string]*cluster{}}
}

func (c *clusters) locked(id string) *cluster {
	found, ok := c.byID[id]
	if !ok {
		found = &cluster{members: map[string]member{}, watchers: map[chan *pb.WatchResponse]struct{}{}}
		c.byID[id] = found
	}
	return found
}

func (c *clusters) announce(clusterID, id string, data []byte, endpoints [][]byte, ttl time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	group := c.locked(clusterID)
	next := &pb.Affiliate{Id: id, Data: data}
	if before, ok := group.members[id]; ok {
		next.Endpoints = slices.Clone(before.affiliate.Endpoints)
		if data == nil {
			next.Data = before.affiliate.Data
		}
	}
	for _, endpoint := range endpoints {
		same := func(known []byte) bool { return slices.Equal(known, endpoint) }
		if !slices.ContainsFunc(next.Endpoints, same) {
			next.Endpoints = append(next.Endpoints, endpoint)
		}
	}
	group.members[id] = member{affiliate: next, until: time.Now().Add(ttl)}
	group.tell(&pb.WatchResponse{Affiliates: []*pb.Affiliate{next}})
}

func (c *clusters) forget(clusterID, id string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.locked(clusterID).remove(id)
}

func (c *clusters) list(clusterID string) []*pb.Affiliate {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.locked(clusterID).affiliates()
}

func (c *clusters) watch(clusterID string) ([]*pb.Affiliate, <-chan *pb.WatchResponse, func()) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	group := c.locked(clusterID)
	changes := make(chan *pb.WatchResponse, backlog)
	group.watchers[changes] = struct{}{}
	stop := func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		delete(group.watchers, changes)
	}
	return group.affiliates(), changes, stop
}

func (c *clusters) forgetTheSilent() {
	for now := range time.Tick(5 * time.Second) {
		c.mutex.Lock()
		for _, group := range c.byID {
			for id, known := range group.members {
				if now.After(known.until) {
					group.remove(id)
				}
			}
		}
		c.mutex.Unlock()
	}
}

func (g *cluster) affiliates() []*pb.Affiliate {
	all := make([]*pb.Affiliate, 0, len(g.members))
	for _, known := range g.members {
		all = append(all, known.affiliate)
	}
	return all
}

func (g *cluster) remove(id string) {
	if _, known := g.members[id]; known {
		delete(g.members, id)
		g.tell(&pb.WatchResponse{Affiliates: []*pb.Affiliate{{Id: id}}, Deleted: true})
	}
}

func (g *cluster) tell(change *pb.WatchResponse) {
	for watcher := range g.watchers {
		select {
		case watcher <- change:
		default: // a gap would be worse than an end: the node then starts again with the whole list
			delete(g.watchers, watcher)
			close(watcher)
		}
	}
}
