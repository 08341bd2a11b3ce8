"""Find workflows that make no progress, and continue or report them.

Start with `lost_workers`, which reschedules executions whose worker is silent past its lease.
`orphans` continues ready workflows without an active execution. `long_pauses` and `stale_workflows`
report dead letters. Housekeeping calls all of them.
"""
