"""Lowering: the flow graph specialised into a program."""
