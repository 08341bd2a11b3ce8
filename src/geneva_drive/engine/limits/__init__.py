"""Limits: an execution takes a slot of each of its limits before its body runs, or is parked.

Start with `admission`. `slots` names the slots that an execution needs, `capacity` counts the room
of a limit, and `waiters` lets parked executions ask again.
"""
