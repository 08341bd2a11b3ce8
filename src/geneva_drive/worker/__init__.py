"""Who does it: a worker claims what is due, runs it, and commits what came of it in groups.

A worker is a list of services started in order and stopped in reverse: a pool of threads that run
steps, a committer, a heartbeat, housekeeping, and a poller that claims. Nothing here knows more of
a Drive than its `Environment`.
"""
