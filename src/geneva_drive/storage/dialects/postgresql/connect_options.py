"""Connect options of psycopg: time limits, and prepared statements."""

from __future__ import annotations

import logging
import threading
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine import URL

from geneva_drive.errors import InvalidInput
from geneva_drive.storage.dialects.postgresql import pooler

logger = logging.getLogger(__name__)

PREPARE = "prepare_threshold"
_SILENCE_MILLISECONDS = 30_000


def time_limits(url: URL) -> dict[str, Any]:
    is_psycopg = url.get_driver_name() == "psycopg"
    return {"tcp_user_timeout": _SILENCE_MILLISECONDS} if is_psycopg else {}


def prepare_threshold(url: URL) -> dict[str, int | None]:
    """Parse psycopg's option from the URL: psycopg does not accept it as text."""
    written = url.query.get(PREPARE)
    if written is None:
        return {}
    if written == "none":
        return {PREPARE: None}
    if not isinstance(written, str) or not written.isdecimal():
        raise InvalidInput(
            f"{PREPARE}={written!r} in the database URL is neither a number of uses nor 'none'."
        )
    return {PREPARE: int(written)}


def prepare_nothing_through_a_pooler(engine: Engine) -> None:
    is_logged = threading.Event()

    @event.listens_for(engine, "connect")
    def look(driver: Any, record: Any) -> None:  # noqa: ARG001 - SQLAlchemy's signature
        if not pooler.stands_before(driver):
            return
        # The next transaction may get a server connection that lacks the statement, or has a
        # different one under its name.
        driver.prepare_threshold = None
        if not is_logged.is_set():
            is_logged.set()
            logger.info(
                "PostgreSQL is reached through a pooler such as PgBouncer: "
                "no statements are prepared."
            )
