"""Rules about secrets."""
