"""MySQL and MariaDB: open `dialect.py` first."""
