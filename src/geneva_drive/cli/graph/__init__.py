"""Pictures of graphs, for `geneva graph` and `geneva show`.

`mermaid.py`, `dot.py` and `svg.py` write a `Picture`, which `drive/graph` makes from a graph;
`node_table.py` lists the nodes in a table.
"""
