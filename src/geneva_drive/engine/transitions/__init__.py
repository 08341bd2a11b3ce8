"""Pure decisions: what follows from the outcome of a step, as a `Change`. No I/O.

Start with `decide`. `outcome` lists every way a run of a step can end, and `change` everything that
a decision can write. `engine/commit` calls `decide` under the workflow's lock and writes the
change.
"""
