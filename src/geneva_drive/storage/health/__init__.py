"""Health checks of a database, and the cost of a commit on it.

Start with `health_checks.py`, which runs all checks. The checks in this folder are the same on
every database; the others are `health.py` in the folder of each dialect.
"""
