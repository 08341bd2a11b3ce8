"""Housekeeping duties, which every worker does at intervals, for all workers and without a leader.

`duties.py` lists the duties; each has its own module. Any number of workers may do a duty at the
same time. A round reads at most a batch of rows, and a row that the database refuses to change is
skipped from then on (`refused_rows`). The poller itself calls `timers`, between claims, which calls
`schedules`, `limit_waiters` and `waits/deadlines`.
"""
