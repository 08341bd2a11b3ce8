"""Waits of nodes: a wait holds a row, and neither a thread nor a connection.

Start with `wait`, which opens, releases and cancels a wait of any kind. Each kind has its modules:
`child`, `branches` (of documents), `moment`, `approvals/` with `deadlines`, and `events/`.
`transitions/wait_kinds.py` holds the union of the kinds.
"""
