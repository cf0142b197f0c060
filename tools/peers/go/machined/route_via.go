// Added to rtnetlink, whose version with this type is not published. Talos fills it in for a gateway of the other
// address family alone, which no node of the tests has: here it is neither sent to the kernel nor read from it.
package rtnetlink

import "net"

// RouteVia is a gateway of another address family than the route.
type RouteVia struct {
	Family uint16
	Addr   net.IP
}
