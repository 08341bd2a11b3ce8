"""Writing changes: the only modules that write the state of workflows and executions.

Start with `commit`. The claim, which only takes rows, is in `storage/dialects`.
"""
