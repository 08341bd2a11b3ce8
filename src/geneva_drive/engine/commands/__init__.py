"""What operators do to a workflow: each command is one transaction with one audit entry.

Start with `commands`.
"""
