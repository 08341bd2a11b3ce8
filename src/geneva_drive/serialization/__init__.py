"""Typed JSON: values are stored as JSON and come back with the type they had.

Start with `typed_json`.
"""
