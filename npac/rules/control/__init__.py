"""Rules about control."""
