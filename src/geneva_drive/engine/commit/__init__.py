"""The only modules that write the state of workflows and executions.

Start with `commit`: it locks, decides and passes the changes to `writer`. Commands and waits call
`writer` directly, with changes of their own. `plain_completions` and `node_completions` are the
fast paths of a busy worker, and `creation` starts workflows. Only the claim is elsewhere, in
`storage/dialects`; it moves rows to `in_progress`.
"""
