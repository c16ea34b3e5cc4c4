"""Names and config resolved, symbolic values, the flow graph, and plain passes over it."""
