"""Graphs: which nodes may run once others are done.

Start with `successors.settle`, which `commit` calls under the workflow's lock. `summary`
combines the ended nodes, `successors` (class graphs: reads every node) or `dependency_counts`
(dynamic graphs: decrements counters) finds the nodes that they unlock, and `combined_change` turns
both into one change. `nodes` is the view of a graph that commands use.
"""
