"""Connections and transactions; start with `database.py`.

`engine` makes an engine from a URL, `kept_connections` keeps connections open for the hot
statements, `fork_safety` gives a forked child its own, and `open_writes` watches users'
transactions.
"""
