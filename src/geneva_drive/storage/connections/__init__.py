"""Connections and transactions.

Start with `database`.
"""
