"""Health checks of a database, and the cost of a commit on it.

Start with `examination.py`, which runs all checks. The checks here are the same on every database;
the others are `health.py` in the folder of each dialect.
"""
