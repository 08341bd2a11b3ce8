"""What a node can wait for: a wait holds a row, and neither a thread nor a connection.

`wait.py` opens, releases and cancels a wait of any kind; each kind has a module of its own
(`child.py`). Start with `wait`. `transitions/wait.py` holds the union of the kinds.
"""
