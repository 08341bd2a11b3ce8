"""SQLite; start with `dialect.py`."""
