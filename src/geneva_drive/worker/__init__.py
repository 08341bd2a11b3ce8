"""Workers: claim executions that are due, run them, and commit their outcomes.

Start with `worker`. Its threads:

- `poller` claims executions (`claims/`), wakes sleepers, and rests while nothing is due;
- `thread_pool` runs steps; `performer` takes each execution (a `Flight`) from its claim to its
  commit, and `committer` commits outcomes in groups;
- every `heartbeat_interval` (10 s): `heartbeat`, and the duties of `housekeeping/duties.py`;
- `listener` receives hints from other processes, where the database can send them.
"""
