"""From a claim, through user code, to an outcome.

Start with `executor`: it checks conditions and limits, then runs the body (`step_run`, `bodies`).
A step with `transaction=True` runs in its own transaction (`transactional_step`,
`transactional_loop`). `reaction` turns an exception into an outcome; `group_commit` commits the
outcomes of many executions.
"""
