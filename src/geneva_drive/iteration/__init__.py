"""Resumable loops: the argument `it`, its sources, and the saving of its cursor.

Start with `loop_run.py`, which passes items to the body, moves the cursor and ends the run.
`iterable_step.py` is the argument `it`. Every source in `sources` is a stream of (item, cursor)
pairs that begins after a saved cursor; the cursor means "this item is done", and None means "from
the start".

Nothing here knows a database or a worker: the engine implements `loop_backend.py`.
"""
