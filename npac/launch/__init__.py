"""From a decision to start a batch to one job that is known to be ours, and back to its end."""
