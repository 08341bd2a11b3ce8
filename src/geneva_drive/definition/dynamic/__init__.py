"""Graphs that are built in code and stored with their workflow.

Start with `builder`.
"""
