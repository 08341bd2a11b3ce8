"""SQLite.

Start with `dialect`.
"""
