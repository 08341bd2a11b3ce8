"""Keyset pagination: reads a user's select in chunks, in the order of a key.

Start with `keyset.py`. `query_shape` checks the select, `key_columns` knows how a database compares
and returns each type, `chunk_statements` and `chunk_reader` read the chunks.
"""
