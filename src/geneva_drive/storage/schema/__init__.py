"""The tables: columns, types, keys and migrations.

Start with `tables`.
"""
