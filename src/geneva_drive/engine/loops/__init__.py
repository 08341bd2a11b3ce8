"""The engine's side of resumable steps.

Open `step_loop.py` first: it runs one loop. `cursor_saver.py` saves its cursor, through the
process's `Checkpointer` (`engine/checkpointer.py`), which commits the cursors of several loops
together. With `transaction=True`, `loop_session.py` commits items and cursor together.
"""
