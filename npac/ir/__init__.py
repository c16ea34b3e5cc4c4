"""The typed intermediate representation of a workflow."""
