"""Where systems keep their work: services that answer, and fresh databases on them."""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

ADDRESSES = {
    "postgresql": "postgresql://postgres@127.0.0.1:5432/postgres",
    "mariadb": "mysql://root@127.0.0.1:3306/mysql",
    "redis": "redis://127.0.0.1:6379/0",
    "rabbitmq": "amqp://guest:guest@127.0.0.1:5672//",
}
_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
_DROP = {
    "postgresql": "DROP DATABASE IF EXISTS {} WITH (FORCE)",
    "mariadb": "DROP DATABASE IF EXISTS {}",
}
_SETTINGS = {
    "postgresql": "SELECT name, setting FROM pg_settings WHERE name IN ('server_version', 'fsync', "
    "'synchronous_commit', 'shared_buffers', 'wal_sync_method', 'full_page_writes', 'autovacuum')",
    "mariadb": "SHOW VARIABLES WHERE Variable_name IN ('version', 'sync_binlog', 'log_bin', "
    "'innodb_flush_log_at_trx_commit', 'innodb_buffer_pool_size')",
}
_CONNECT_SECONDS = 2.0


def address(service: str) -> str:
    """The address of a service: GENEVA_BENCH_<NAME>, or the local standard port."""
    return os.environ.get(f"GENEVA_BENCH_{service.upper()}") or ADDRESSES[service]


def why_missing(service: str) -> str | None:
    """Say why a service cannot be used, or None if it answers."""
    try:
        if service in _SETTINGS:
            _execute(service, "SELECT 1")
        elif service != "sqlite":
            parts = urlsplit(address(service))
            assert parts.hostname is not None
            socket.create_connection((parts.hostname, parts.port or 0), _CONNECT_SECONDS).close()
    except (OperationalError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        return f"{service} does not answer (GENEVA_BENCH_{service.upper()}): {reason}"
    return None


def settings(service: str) -> dict[str, str]:
    """What a database server says about itself, as far as it matters for durability and speed."""
    engine = create_engine(_with_driver(address(service)), poolclass=NullPool)
    with engine.connect() as connection:
        return {name: str(value) for name, value in connection.execute(text(_SETTINGS[service]))}


@contextmanager
def fresh(service: str) -> Iterator[str]:
    """Give the address of a database that nothing else uses, and remove it afterwards."""
    name = f"geneva_bench_{secrets.token_hex(4)}"
    if service == "sqlite":
        with tempfile.TemporaryDirectory(prefix="geneva-bench-") as folder:
            yield f"sqlite:///{Path(folder) / 'bench.db'}"
    elif service in _DROP:
        _execute(service, f"CREATE DATABASE {name}")
        try:
            yield make_url(address(service)).set(database=name).render_as_string(False)
        finally:
            _execute(service, _DROP[service].format(name))
    else:
        yield address(service)


def _execute(service: str, statement: str) -> None:
    engine = create_engine(_with_driver(address(service)), poolclass=NullPool)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(statement))


def _with_driver(url: str) -> str:
    parsed = make_url(url)
    driver = _DRIVERS[parsed.get_backend_name()]
    return parsed.set(drivername=driver).render_as_string(False)
