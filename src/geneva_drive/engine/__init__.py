"""Run claimed executions, decide what follows, and write it.

`transitions` are pure functions that decide the change after an outcome. `commit` writes changes,
for one execution or five hundred; nothing else writes a state. `execution` runs user code without
a lock, and turns its end into an outcome. `commands`, `waits`, `graphs`, `loops`, `limits` and
`recovery` are built on these three. Start with `transitions/decide.py`.
"""
