"""Recognising a pooler, such as PgBouncer, between us and PostgreSQL."""

from __future__ import annotations

from typing import Any


def stands_before(driver: Any) -> bool:
    """Say whether a connection of psycopg's leads to a pooler, and not to the server itself.

    A server tells each client the number of the process that serves it. A pooler, which lets one
    process serve many, makes up a number for each.
    """
    autocommit = driver.autocommit
    driver.autocommit = True  # or the question would leave a transaction open
    try:
        [served_by] = driver.execute("SELECT pg_backend_pid()").fetchone()
    finally:
        driver.autocommit = autocommit
    return bool(served_by != driver.info.backend_pid)
