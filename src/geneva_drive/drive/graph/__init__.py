"""A graph as every door draws it: boxes, arrows and where they stand.

`groups.py` folds nodes that are alike, `picture.py` turns the groups into boxes and arrows, and
`layout.py` places them. `graph_view.py`, beside this room, reads the graph.
"""
