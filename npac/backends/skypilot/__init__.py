"""The SkyPilot back end: documents, scripts and YAML."""
