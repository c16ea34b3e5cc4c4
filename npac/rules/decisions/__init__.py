"""Rules about decisions."""
