"""A real Kubernetes API for the lab's clusters: etcd and kube-apiserver as child processes, kubelets simulated."""
