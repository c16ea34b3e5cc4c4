"""Source text, positions in it, and YAML nodes that know theirs."""
