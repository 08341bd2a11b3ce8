"""What is remembered, on SQLite, PostgreSQL and MySQL/MariaDB. The only room with SQL.

Open `store.py` first: a Store holds everything that a Drive remembers. `schema/` has the tables,
`connections/` the transactions, `statements/` one module per table, and `dialects/` what differs
between the databases. Statements take the caller's connection, so the caller decides what belongs
in one transaction.
"""
