"""PostgreSQL; start with `dialect.py`."""
