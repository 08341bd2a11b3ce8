"""A graph for display: its boxes, its arrows and their positions.

Start with `graph_view.py`, which reads the graph. `groups.py` folds nodes that are alike,
`picture.py` turns the groups into boxes and arrows, and `layout.py` places them.
"""
