"""The kinds of nodes a class body can declare, one module per decorator.

Start with `step`.
"""
