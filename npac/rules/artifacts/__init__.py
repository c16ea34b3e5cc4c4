"""Rules about artifacts."""
