"""Health checks of a database, and the cost of a commit on it.

Open `examination.py` first: it runs all checks. `indexes`, `connections` and `clocks` are the same
on every database; the others are `health.py` in the folder of each dialect.
"""
