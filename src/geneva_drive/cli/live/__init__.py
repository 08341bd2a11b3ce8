"""The live view that `geneva watch` and `geneva demo` share.

`screen` redraws a terminal; `parts` are what both commands draw on it.
"""
