"""Finds workflows for operators: one filter for lists of the REST API, and for bulk commands.

Start with `search`. `filter` has what can be asked.
"""
