"""Builds: a compiled program and what was made of it, in a folder."""
