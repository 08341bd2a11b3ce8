"""Schedules: fire due runs, or record why they were skipped.

Start with `schedule_runs`. One transaction, under the lock of the schedule's row, records a run,
creates its workflow and moves the schedule to its next moment. So a run is fired once, whatever
the number of workers and wherever one of them crashes.
"""
