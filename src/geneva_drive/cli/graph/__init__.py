"""`geneva graph`: a graph as Mermaid, as DOT, or as a picture of its own.

`folding` finds nodes that are alike, `picture` makes boxes and arrows of what is left; `mermaid`,
`dot` and `svg` write them down, the last with the help of `layout`.
"""
