"""Detection of a pooler, such as PgBouncer, between this process and PostgreSQL."""

from __future__ import annotations

from typing import Any


def stands_before(driver: Any) -> bool:
    """True if a psycopg connection goes to a pooler, and not to the server itself.

    A server sends each client the id of the process that serves it. The clients of a pooler share
    processes, so a pooler invents the id.
    """
    autocommit = driver.autocommit
    driver.autocommit = True  # without it, the SELECT would begin a transaction
    try:
        [served_by] = driver.execute("SELECT pg_backend_pid()").fetchone()
    finally:
        driver.autocommit = autocommit
    return bool(served_by != driver.info.backend_pid)
