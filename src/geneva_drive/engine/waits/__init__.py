"""What a node can wait for: a wait holds a row, and neither a thread nor a connection.

Start with `wait`, which opens, releases and cancels a wait of any kind. Each kind has its modules:
`child`, and for approvals `approval` (what is asked), `pending_request` (who may decide),
`votes` (the decision), `request_endings`, `reassignment` (escalate and delegate), `deadlines` and
`decision_links`.
`transitions/wait_kinds.py` holds the union of the kinds.
"""
