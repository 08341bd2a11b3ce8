"""Finds workflows for operators: lists, queries, and the filters of bulk commands.

Start with `search`. `filter` has the filters.
"""
