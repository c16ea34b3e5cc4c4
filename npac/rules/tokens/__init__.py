"""Rules about tokens."""
