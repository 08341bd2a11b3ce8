"""Who does it: a worker claims executions that are due, runs them and commits their outcomes.

Start with `worker`. Its threads:

- `poller` claims (`claims/`), wakes sleepers, and rests while there is nothing to do;
- `thread_pool` runs steps; `performer` leads each one (a `Flight`) from its claim to its commit,
  in groups (`committer`);
- every `heartbeat_interval` (10 s): `heartbeat`, and the duties of `housekeeping/duties.py`;
- `listener` hears from other processes, where the database can tell.
"""
