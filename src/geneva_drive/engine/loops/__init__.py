"""Run the loops of resumable steps and batch workers.

Start with `step_loop.py`, which runs one loop. `cursor_saver.py` saves its cursor, through the
process's `Checkpointer` (`engine/checkpointer.py`), which commits the cursors of several loops
together. With `transaction=True`, `loop_transaction.py` commits items and cursor together.
"""
