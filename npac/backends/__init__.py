"""Back ends: from a program to what an engine runs."""
