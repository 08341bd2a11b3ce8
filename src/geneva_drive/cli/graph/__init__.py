"""Pictures of graphs, for `geneva graph` and `geneva show`.

`mermaid.py`, `dot.py` and `svg.py` write the picture that `drive/graph` makes of a graph;
`tables.py` lists the nodes as a table.
"""
