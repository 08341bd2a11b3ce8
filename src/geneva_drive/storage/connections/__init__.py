"""Connections and transactions; start with `database.py`.

`engine` makes an engine from a URL, `kept_connections` keeps connections open for the hot
statements, `fork_safety` opens new ones in a forked child, and `open_writes` watches users'
transactions.
"""
