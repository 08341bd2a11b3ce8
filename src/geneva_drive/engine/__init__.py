"""What happens next.

`transitions` decides what follows from an outcome: pure functions. `commit` writes it, for one
execution or five hundred; nothing else writes a state. `execution` runs user code without a lock
and turns what it does into an outcome. `commands`, `waits`, `graphs`, `loops`, `limits` and
`recovery` are built on these three. Start with `transitions/decide.py`.
"""
