"""SQLite: open `dialect.py` first."""
