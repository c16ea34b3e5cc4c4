"""The embedded engine: jobs as processes of this machine, without a daemon, an account or root.

Each job has a supervisor process of its own that outlives whoever launched it.  The queue is a
SQLite file in the engine's state folder; supervisors take turns through it, and any reader of the
queue sees to the jobs whose supervisor died.

This file imports nothing: supervisors start from this package and must start fast.
"""
