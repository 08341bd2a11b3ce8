"""What is remembered: tables, statements and transactions, on SQLite, PostgreSQL and MySQL/MariaDB.

The only room with SQL. A `Store` belongs to one Drive: it holds the engine, the tables under the
Drive's prefix, the dialect's differences, and one object per table with its statements. Statements
take the caller's connection, so that whoever decides also says what belongs in one transaction.
"""
