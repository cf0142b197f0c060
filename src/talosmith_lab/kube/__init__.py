"""The simulated Kubernetes of the lab: objects as plain data in the lab's etcd, by the rules of a real API server."""
