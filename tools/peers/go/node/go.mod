module talosmith.test/node

go 1.24.0

require (
	github.com/siderolabs/discovery-api v0.1.8
	google.golang.org/grpc v1.78.0
)
