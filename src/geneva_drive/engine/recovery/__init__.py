"""Workflows that no worker runs any more.

`lost_workers` reschedules executions whose worker is silent past its lease; `orphans` continues
ready workflows without an active execution; `long_pauses` and `stale_workflows` report what stands
still. Housekeeping calls all of them. Start with `lost_workers`.
"""
