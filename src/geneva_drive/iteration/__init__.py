"""Resumable loops: `it`, its sources, and when a loop saves its cursor.

Open `loop_run.py` first: it hands out items, moves the cursor and ends the run. `iterable_step.py`
is the `it` of the user. Every source in `sources` is a stream of (item, cursor) pairs that begins
after a saved cursor; the cursor says "this item is done", and None means from the start.

Nothing here knows a database or a worker: the engine implements `loop_backend.py`.
"""
