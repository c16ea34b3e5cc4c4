"""Findings about specs: what they are, how they are silenced, mended and shown."""
