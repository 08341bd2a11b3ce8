"""The schema: tables, column types, keys, the records of rows, and migrations.

Start with `tables.py`.
"""
