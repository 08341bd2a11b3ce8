"""Schedules: which runs are due, and what becomes of each.

Open `schedule_runs.py` first. A run is recorded, its workflow is created and the schedule's next
moment is moved in one transaction, under the lock of the schedule's row. So a run is fired once,
whatever the number of workers and wherever one dies.
"""
