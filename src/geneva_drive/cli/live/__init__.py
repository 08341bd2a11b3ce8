"""The live view that `geneva watch` and `geneva demo` share.

`screen` redraws a terminal; `parts` and `levels` are what both commands draw on it: progress bars
of loops, and of the levels of a graph.
"""
