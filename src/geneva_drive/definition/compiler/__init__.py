"""Compiles class bodies to a definition.

Start with `compiler`. `chain` puts the nodes in order, `dependencies` resolves the nodes that each
node waits for, `graph` answers questions about the result. The other modules check names,
signatures and overrides, and find the file and line for error messages.
"""
