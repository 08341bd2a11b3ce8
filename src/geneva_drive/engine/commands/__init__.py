"""What operators do to a workflow.

Start with `command`, which executes every command in one transaction: lock the workflow, decide,
write the change with its audit entry. The decisions are pure functions of a `CommandedWorkflow`:
`pause`, `cancel`, `resume`, and `repair` (reattempt, rewind, and passing over a step).
`graph_commands` decides where several nodes may be active, `graph_changes` stores and replaces
graphs. `reset` and `dead_letters` combine several decisions in one transaction.
"""
