"""The database servers that the tests run on: found, started or missed."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from sqlalchemy import URL, Connection, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool

from tests import private_servers
from tests.private_servers import Cook, DidNotStart, private_server, why_not

_ME = getpass.getuser()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    name: str
    label: str
    driver: str
    usual: tuple[URL, ...]  # where it answers on a machine that nobody prepared for us
    package: str
    cook: Cook
    create: str
    drop: str
    list: str
    hasten: str | None = None  # the server may lose commits in a crash

    @property
    def variable(self) -> str:
        return f"GENEVA_TEST_{self.name.upper()}_URL"


POSTGRESQL = Kind(
    name="postgresql",
    label="PostgreSQL",
    driver="postgresql+psycopg",
    usual=(
        make_url("postgresql+psycopg://postgres@127.0.0.1:5432/postgres"),
        make_url("postgresql+psycopg://postgres:postgres@127.0.0.1:5432/postgres"),
        make_url("postgresql+psycopg://127.0.0.1:5432/postgres").set(username=_ME),
        make_url("postgresql+psycopg:///postgres?host=/var/run/postgresql"),
    ),
    package="postgresql",
    cook=private_servers.postgresql,
    create="CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0",
    drop="DROP DATABASE IF EXISTS {name} WITH (FORCE)",
    list="SELECT datname FROM pg_database",
    hasten="ALTER DATABASE {name} SET synchronous_commit = off",
)

MYSQL = Kind(
    name="mysql",
    label="MySQL or MariaDB",
    driver="mysql+pymysql",
    usual=(
        make_url("mysql+pymysql://root@127.0.0.1:3306/"),
        make_url("mysql+pymysql:///?unix_socket=/run/mysqld/mysqld.sock").set(username=_ME),
    ),
    package="mariadb-server",
    cook=private_servers.mysql,
    create="CREATE DATABASE {name} CHARACTER SET utf8mb4",
    drop="DROP DATABASE IF EXISTS {name}",
    list="SELECT schema_name FROM information_schema.schemata",
)

KINDS = {kind.name: kind for kind in (POSTGRESQL, MYSQL)}


def with_query(url: str, **query: str) -> str:
    """Add parameters to a URL, which names a socket by parameters of its own."""
    return make_url(url).update_query_dict(query).render_as_string(hide_password=False)


@dataclass(frozen=True, slots=True)
class Server:
    kind: Kind
    url: URL
    origin: str

    def create(self, database: str, *, durable: bool = False) -> str:
        """Create a database; unless it is `durable`, a crash of its server may lose commits."""
        with self._administering() as connection:
            connection.execute(text(self.kind.drop.format(name=database)))
            connection.execute(text(self.kind.create.format(name=database)))
            if self.kind.hasten is not None and not durable:
                connection.execute(text(self.kind.hasten.format(name=database)))
        return self._plain_url.set(database=database).render_as_string(hide_password=False)

    def drop(self, databases: Iterable[str]) -> None:
        with self._administering() as connection:
            for database in databases:
                connection.execute(text(self.kind.drop.format(name=database)))

    def databases(self) -> list[str]:
        with self._administering() as connection:
            return list(connection.scalars(text(self.kind.list)))

    @property
    def _plain_url(self) -> URL:
        # Making what TLS needs takes longer than connecting, and each test connects anew.
        plain = {"ssl_disabled": "true"} if self.kind.label != "PostgreSQL" else {}
        return self.url.update_query_dict(plain)

    @contextmanager
    def _administering(self) -> Iterator[Connection]:
        engine = create_engine(self._plain_url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            yield connection


@dataclass(frozen=True, slots=True)
class Missing:
    kind: Kind
    tried: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"No {self.kind.label} server to test on: {'; '.join(self.tried)}. "
            f"Start one, or name one in {self.kind.variable}."
        )


@dataclass(frozen=True, slots=True)
class NoPgBouncer:
    tried: tuple[str, ...]

    def __str__(self) -> str:
        return f"No PgBouncer to test through: {'; '.join(self.tried)}. Install pgbouncer."


class NobodyAnswers(Exception):
    def __init__(self, variable: str, reason: str) -> None:
        self.variable = variable
        self.reason = reason
        super().__init__(
            f"{variable} names a server that cannot be used: {reason}. "
            "Correct it, or unset it to let the tests look for a server."
        )


def find(kind: Kind, stack: ExitStack) -> Server | Missing:
    """Find or start a server; what is started stops when `stack` closes."""
    given = os.environ.get(kind.variable)
    if given:
        return _given(kind, given)
    tried = []
    if not os.environ.get("GENEVA_TEST_IGNORE_LOCAL"):
        for url in kind.usual:
            reason = why_not(url)
            if reason is None:
                return Server(kind, url, f"answering at {url.host or 'its socket'}")
            tried.append(f"{url!r} says {reason!r}")
    return _private(kind, stack, tried)


def find_pgbouncer() -> NoPgBouncer | None:
    """See to it that the program is there, as each test starts one of its own."""
    tried = ["it is not installed"]
    if private_servers.program_of_pgbouncer() or install("pgbouncer", tried):
        return None
    return NoPgBouncer(tuple(tried))


def from_environment(kind: Kind) -> Server | None:
    """Take the server that the controller found before it started this worker."""
    url = os.environ.get(kind.variable)
    return Server(kind, make_url(url), "found by the controller") if url else None


def drop_run(server: Server, run: str) -> None:
    server.drop(name for name in server.databases() if name.startswith(f"geneva_test_{run}_"))


def drop_remains(server: Server) -> None:
    """Drop databases of runs on this machine that were killed before they could."""
    if server.url.host not in (None, "127.0.0.1", "localhost"):
        return
    runs = {name: re.match(r"geneva_test_(\d+)_", name) for name in server.databases()}
    server.drop(name for name, run in runs.items() if run and not _is_alive(int(run[1])))


def _given(kind: Kind, given: str) -> Server:
    try:
        url = make_url(given).set(drivername=kind.driver)
    except ArgumentError as error:
        raise NobodyAnswers(kind.variable, "it is not a SQLAlchemy URL") from error
    reason = why_not(url)
    if reason is not None:
        raise NobodyAnswers(kind.variable, reason)
    return Server(kind, url, f"given by {kind.variable}")


def _private(kind: Kind, stack: ExitStack, tried: list[str]) -> Server | Missing:
    try:
        url = stack.enter_context(private_server(kind.cook))
        if url is None and install(kind.package, tried):
            url = stack.enter_context(private_server(kind.cook))
    except DidNotStart as error:
        return Missing(kind, (*tried, str(error)))
    if url is None:
        return Missing(kind, (*tried, "its programs are not installed"))
    return Server(kind, url, "started for this run")


def install(package: str, tried: list[str]) -> bool:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        tried.append("only root on Debian can install it")
        return False
    sys.stderr.write(f"Installing {package} with apt-get for the tests ...\n")
    for command in (["update"], ["install", "--yes", "--no-install-recommends", package]):
        done = subprocess.run(
            ["apt-get", "--quiet", "--quiet", *command],
            check=False,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
        if done.returncode != 0:
            tried.append(f"apt-get {command[0]} says {done.stderr.strip()[-200:]!r}")
            return False
    return True


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # another user's
    return True
