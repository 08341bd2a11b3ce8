"""Storage on SQLite, PostgreSQL and MySQL/MariaDB. All SQL of the package is here.

Start with `store.py`: a Store holds everything that a Drive stores. `schema/` has the tables,
`connections/` the transactions, `statements/` one module per table, and `dialects/` what differs
between the databases. Statements take the caller's connection, so the caller decides what belongs
in one transaction.
"""
