"""From class bodies to a definition.

Start with `compiler`.
"""
