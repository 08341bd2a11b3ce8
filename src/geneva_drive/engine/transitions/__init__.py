"""Pure decisions: what follows from the outcome of a step, as a `Change`. No I/O.

Start with `decide`. `outcome` lists everything that can come of running a step, `change` what a
decision can write. `engine/commit` calls the decisions under the workflow's lock and writes them.
"""
