"""The one door for state: the only modules that write the state of workflows and executions.

Start with `commit`: it locks, decides and hands the changes to `writer`. Commands and waits call
`writer` directly, with changes of their own. `plain_completions` and `node_completions` are the
fast paths of a busy worker, `creation` starts workflows. The claim, which only moves rows to
`in_progress`, is in `storage/dialects`.
"""
