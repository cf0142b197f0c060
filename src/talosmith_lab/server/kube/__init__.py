"""The Kubernetes API of the lab's control planes on the network."""
