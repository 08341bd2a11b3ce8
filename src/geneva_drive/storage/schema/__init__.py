"""The tables, their column types and keys, the records of their rows, and the migrations.

Open `tables.py` first.
"""
