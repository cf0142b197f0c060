"""The lab on the network: nodes that answer the Talos API, and the way in for who keeps the lab."""
