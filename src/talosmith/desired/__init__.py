"""Pure: from a Cluster to what should be."""
