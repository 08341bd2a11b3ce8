"""The options of nodes and classes: parsed and checked where they are written.

Start with `options`.
"""
