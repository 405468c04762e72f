"""What cluster/drill and scripts/chaos are made of."""
