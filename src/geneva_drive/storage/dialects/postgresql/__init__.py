"""PostgreSQL.

Start with `dialect`.
"""
