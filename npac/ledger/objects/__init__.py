"""Ledgers of runs as objects below a prefix of an S3 bucket."""
