"""PostgreSQL: open `dialect.py` first."""
