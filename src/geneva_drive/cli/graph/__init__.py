"""Pictures of graphs, for `geneva graph` and `geneva show`.

`picture.py` turns a graph into boxes and arrows, with the help of `groups.py`, which folds nodes
that are alike. `mermaid.py`, `dot.py` and `svg.py` write the picture; `layout.py` places the boxes
of the SVG. `tables.py` lists the nodes as a table.
"""
