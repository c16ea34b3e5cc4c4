"""Jobs on SkyPilot: managed jobs of the SkyPilot that the user names.

SkyPilot's modules never enter this process: :mod:`npac.engines.skypilot.bridge` is a script that runs
in SkyPilot's own interpreter and is spoken to by lines of JSON.
"""
