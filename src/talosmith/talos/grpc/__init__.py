"""gRPC over TLS as Talos speaks it: connections, calls, what failed and why."""
