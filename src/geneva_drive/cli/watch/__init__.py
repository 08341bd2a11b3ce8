"""`geneva watch`: one workflow, shown live until it has ended or needs an operator.

`observer` reads the workflow, and `levels` the progress of a graph; `frame` draws them, and `views`
are the three forms of output: a redrawn terminal, plain lines, and JSON lines.
"""
