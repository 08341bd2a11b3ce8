"""Graphs: which nodes may run once others are done.

Start with `successors.settle`, which `commit` calls under the workflow's lock. `summary` adds up
what each ended node means alone, `successors` (class graphs: look at every node) or
`dependency_counts` (dynamic graphs: decrement counters) finds what they unlock, and
`combined_change` makes one change of it. `nodes` is the view that commands have of a graph.
"""
