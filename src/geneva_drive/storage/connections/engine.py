"""Making an engine from what a user writes as the database's address."""

from __future__ import annotations

import logging
import re
import threading
from typing import Any

from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.engine import URL, Dialect
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import QueuePool

from geneva_drive.errors import InvalidInput
from geneva_drive.storage import dialects
from geneva_drive.storage.connections import fork_safety
from geneva_drive.storage.dialects.postgresql import pooler

logger = logging.getLogger(__name__)

_DRIVERS = {
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
}
_PACKAGES = {"psycopg": "'geneva-drive[postgres]'", "pymysql": "'geneva-drive[mysql]'"}
_CONNECT_SECONDS = 10
_SILENCE_MILLISECONDS = 30_000
_PREPARE = "prepare_threshold"
_PASSWORD = re.compile(r"(://[^:/@]*:)[^@]*@")


class NotADatabaseURL(InvalidInput):
    def __init__(self, url: object) -> None:
        shown = _PASSWORD.sub(r"\1***@", str(url))
        super().__init__(
            f"{shown!r} is not a database URL. Write it as sqlite:///file.db, "
            f"postgresql://user:password@host/name or mysql://user:password@host/name."
        )


def make_engine(url: str | URL) -> Engine:
    parsed = _parse(url)
    dialects.for_name(parsed.get_backend_name())
    try:
        refuse_async(parsed.get_dialect())
        # As many connections as threads need them at once: a limit would let the steps of a busy
        # worker, each with a transaction of its own, keep its heartbeat from being heard.
        engine = create_engine(
            parsed.difference_update_query([_PREPARE]),
            poolclass=QueuePool,
            max_overflow=-1,
            pool_pre_ping=parsed.get_backend_name() != "sqlite",
            connect_args={**_patience(parsed), **_preparing(parsed)},
        )
    except NoSuchModuleError as error:
        raise NotADatabaseURL(url) from error
    except ModuleNotFoundError as error:
        package = _PACKAGES.get(error.name or "", error.name)
        raise InvalidInput(
            f"The driver {error.name!r} for this database is not installed. "
            f"Run: pip install {package}."
        ) from error
    fork_safety.begin_anew_in_children(engine)
    if engine.dialect.driver == "psycopg" and _PREPARE not in parsed.query:
        _prepare_nothing_through_a_pooler(engine)
    return engine


def _preparing(url: URL) -> dict[str, int | None]:
    """Read psycopg's own option, which it does not take as text."""
    written = url.query.get(_PREPARE)
    if written is None:
        return {}
    if written == "none":
        return {_PREPARE: None}
    if not isinstance(written, str) or not written.isdecimal():
        raise InvalidInput(
            f"{_PREPARE}={written!r} in the database URL is neither a number of uses nor 'none'."
        )
    return {_PREPARE: int(written)}


def _prepare_nothing_through_a_pooler(engine: Engine) -> None:
    told = threading.Event()

    @event.listens_for(engine, "connect")
    def look(driver: Any, record: Any) -> None:  # noqa: ARG001 - SQLAlchemy's signature
        if not pooler.stands_before(driver):
            return
        # The next transaction may get a connection that knows nothing of it, or too much.
        driver.prepare_threshold = None
        if not told.is_set():
            told.set()
            logger.info(
                "PostgreSQL is reached through a pooler such as PgBouncer: "
                "no statements are prepared."
            )


def _patience(url: URL) -> dict[str, int]:
    """Bound how long a server may keep silent: a stopping worker waits for it."""
    if url.get_backend_name() == "sqlite" or "connect_timeout" in url.query:
        return {}
    limits = {"connect_timeout": _CONNECT_SECONDS}
    if url.get_driver_name() == "psycopg":
        limits["tcp_user_timeout"] = _SILENCE_MILLISECONDS
    return limits


def refuse_async(dialect: Dialect | type[Dialect]) -> None:
    if dialect.is_async:
        raise InvalidInput(
            f"{dialect.driver!r} is an asynchronous driver, and GenevaDrive needs one that is not. "
            f"Write the URL as {dialect.name}://..., without a driver."
        )


def _parse(url: str | URL) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise NotADatabaseURL(url) from error
    return parsed.set(drivername=_DRIVERS.get(parsed.drivername, parsed.drivername))
