"""The event log of a run, the lease on it, and the stores that hold artifacts."""
