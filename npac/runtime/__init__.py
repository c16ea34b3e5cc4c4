"""Walks a program: waves are launched and watched, gates are read, everything is put on record first."""
