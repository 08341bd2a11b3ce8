"""MySQL and MariaDB; start with `dialect.py`."""
