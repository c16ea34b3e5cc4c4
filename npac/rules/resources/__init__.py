"""Rules about resources."""
