"""Workflows that no worker runs any more.

`lost_workers` reschedules executions whose worker is silent past its lease; `orphans` continues
ready workflows without an active execution. Housekeeping calls both. Start with `lost_workers`.
"""
