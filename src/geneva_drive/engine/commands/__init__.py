"""Commands: the actions of operators on a workflow.

Start with `command`, which executes every command in one transaction: lock the workflow, decide,
write the change with its audit entry. The decisions are pure functions of a `CommandedWorkflow`:
`pause`, `cancel`, `resume`, and `repair` (reattempt, rewind and pass over a step). `graph_commands`
decides the same for graphs, in which several nodes may be active, and `graph_changes` stores and
replaces graphs. `reset` and `dead_letters` combine several decisions in one transaction.
"""
