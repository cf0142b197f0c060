"""The simulated world: machines that boot, install and run Talos, the etcd between them, and what can go wrong.

The core (machines, etcd, faults, time) is plain data and functions without I/O; `server/` puts it on the network.
"""
