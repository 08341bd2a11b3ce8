"""Run claimed executions, and commit their outcomes.

Start with `executor`: it checks conditions and limits, then runs the body (`step_run`, `bodies`).
`transactions` runs steps with `transaction=True`, whose writes commit with their outcome.
`exception_outcome` turns an exception into an outcome, and `group_commit` commits the outcomes of
many executions.
"""
