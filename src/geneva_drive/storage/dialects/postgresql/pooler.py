"""Detects a pooler, such as PgBouncer, between this process and PostgreSQL."""

from __future__ import annotations

from typing import Any


def stands_before(driver: Any) -> bool:
    """True if a psycopg connection leads to a pooler, and not to the server itself.

    A server tells each client the id of the process that serves it. A pooler, whose clients share
    processes, makes an id up.
    """
    autocommit = driver.autocommit
    driver.autocommit = True  # or the SELECT would leave a transaction open
    try:
        [served_by] = driver.execute("SELECT pg_backend_pid()").fetchone()
    finally:
        driver.autocommit = autocommit
    return bool(served_by != driver.info.backend_pid)
