// A discovery service in memory, for clusters of test nodes: it hands each node's encrypted announcement to the others.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"

	"github.com/siderolabs/discovery-api/api/v1alpha1/server/pb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
)

const version = "talosmith-discovery 1"

type service struct {
	pb.UnimplementedClusterServer
	clusters *clusters
}

func main() {
	address := flag.String("listen", "", "address and port")
	ask := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *ask {
		fmt.Println(version)
		return
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	known := newClusters()
	go known.forgetTheSilent()
	server := grpc.NewServer()
	pb.RegisterClusterServer(server, &service{clusters: known})
	log.Printf("listening on %s", listener.Addr())
	log.Fatal(server.Serve(listener))
}

func (s *service) Hello(ctx context.Context, _ *pb.HelloRequest) (*pb.HelloResponse, error) {
	answer := &pb.HelloResponse{}
	if caller, ok := peer.FromContext(ctx); ok {
		if tcp, ok := caller.Addr.(*net.TCPAddr); ok {
			answer.ClientIp = tcp.IP
			if v4 := tcp.IP.To4(); v4 != nil {
				answer.ClientIp = v4
			}
		}
	}
	return answer, nil
}

func (s *service) AffiliateUpdate(_ context.Context, r *pb.AffiliateUpdateRequest) (*pb.AffiliateUpdateResponse, error) {
	s.clusters.announce(r.ClusterId, r.AffiliateId, r.AffiliateData, r.AffiliateEndpoints, r.Ttl.AsDuration())
	return &pb.AffiliateUpdateResponse{}, nil
}

func (s *service) AffiliateDelete(_ context.Context, r *pb.AffiliateDeleteRequest) (*pb.AffiliateDeleteResponse, error) {
	s.clusters.forget(r.ClusterId, r.AffiliateId)
	return &pb.AffiliateDeleteResponse{}, nil
}

func (s *service) List(_ context.Context, r *pb.ListRequest) (*pb.ListResponse, error) {
	return &pb.ListResponse{Affiliates: s.clusters.list(r.ClusterId)}, nil
}

func (s *service) Watch(r *pb.WatchRequest, stream pb.Cluster_WatchServer) error {
	now, changes, stop := s.clusters.watch(r.ClusterId)
	defer stop()
	if err := stream.Send(&pb.WatchResponse{Affiliates: now}); err != nil {
		return err
	}
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case change, open := <-changes:
			if !open {
				return fmt.Errorf("too slow: start the watch again")
			}
			if err := stream.Send(change); err != nil {
				return err
			}
		}
	}
}
