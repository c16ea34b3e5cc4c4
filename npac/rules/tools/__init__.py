"""Rules about tools."""
