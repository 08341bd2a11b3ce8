"""The nodes that a class body can declare, one module per decorator.

Start with `step`. All kinds share `declaration`.
"""
