"""MySQL and MariaDB.

Start with `dialect`.
"""
