"""The nodes that a class body can declare, one module per decorator.

Start with `step`. `declaration` is what all kinds share.
"""
