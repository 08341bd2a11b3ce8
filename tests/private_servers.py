"""Database servers made from installed programs, for one test run."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Protocol, TypedDict

from sqlalchemy import URL, create_engine, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

START_LIMIT_SECONDS = 60

# The end of the keeper's standard input stops the server, so that it also goes when the test
# run is killed. A crash ends all its processes at once; its head is stopped before, so that it
# neither says goodbye to its clients nor puts anything in order.
KEEPER = """
directory=$1 stop_signal=$2; shift 2
"$@" </dev/null & server=$!
while read -r order; do
    if [ "$order" = crash ]; then
        kill -s STOP "$server"
        ps -A -o pid=,ppid= | while read -r process parent; do
            if [ "$parent" = "$server" ]; then kill -s KILL "$process"; fi
        done
        kill -s KILL "$server"
        wait "$server"
        server=
    else
        "$@" </dev/null & server=$!
    fi
done
if [ -n "$server" ]; then
    kill -s "$stop_signal" "$server"
    wait "$server"
fi
rm -rf "$directory"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    account: str  # whom to run as when we are root: all of them refuse to run as root
    initialize: Sequence[str]
    serve: Sequence[str]
    hasty: Sequence[str]  # options with which it is faster, and may forget what it committed
    stop_signal: str
    url: str


class Cook(Protocol):
    def __call__(self, directory: Path, port: int) -> Recipe | None:
        """Tell how to make a server in `directory`, or None where its programs are missing."""


class DidNotStart(Exception):
    def __init__(self, program: str, last_words: str) -> None:
        self.program = program
        self.last_words = last_words
        super().__init__(f"{program} did not start: {last_words}")


def postgresql(directory: Path, port: int) -> Recipe | None:
    initdb = _program("initdb", "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
    if initdb is None:
        return None
    cluster = str(directory / "cluster")
    options = {
        "port": port,
        "listen_addresses": "127.0.0.1",
        # A socket's path may be too long in a deep temporary folder.
        "unix_socket_directories": "",
        "max_connections": 200,
    }
    return Recipe(
        account="postgres",
        initialize=[
            *(str(initdb), "--pgdata", cluster, "--username", "postgres"),
            *("--auth", "trust", "--encoding", "UTF8", "--no-locale", "--no-sync"),
        ],
        serve=[
            *(str(initdb.with_name("postgres")), "-D", cluster),
            *(argument for key, value in options.items() for argument in ("-c", f"{key}={value}")),
        ],
        hasty=["-c", "fsync=off"],
        stop_signal="INT",
        url=f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres",
    )


def mysql(directory: Path, port: int) -> Recipe | None:
    # Debian keeps servers in folders that are not on an ordinary user's PATH.
    folders = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec")
    server = _program("mariadbd", *folders) or _program("mysqld", *folders)
    if server is None:
        return None
    datadir = f"--datadir={directory / 'datadir'}"
    install = _program("mariadb-install-db")
    if install is None:
        initialize = [str(server), "--no-defaults", "--initialize-insecure", datadir]
    else:
        initialize = [
            *(str(install), "--no-defaults", datadir, "--skip-test-db"),
            "--auth-root-authentication-method=normal",
        ]
    return Recipe(
        account="mysql",
        initialize=initialize,
        serve=[
            *(str(server), "--no-defaults", datadir, "--bind-address=127.0.0.1", f"--port={port}"),
            *(f"--socket={directory / 'socket'}", f"--pid-file={directory / 'pid'}"),
            "--max-connections=200",
        ],
        # Every commit is written, as the doctor wants it, and none waits for the disk.
        hasty=["--innodb-flush-method=nosync"],
        stop_signal="TERM",
        url=f"mysql+pymysql://root@127.0.0.1:{port}/",
    )


class CrashingServer:
    """A server that forgets nothing it has committed, and may be killed and started again."""

    def __init__(self, recipe: Recipe, directory: Path, keeper: subprocess.Popen[bytes]) -> None:
        self.url = make_url(recipe.url)
        self._recipe = recipe
        self._log = directory / "log"
        self._keeper = keeper

    def crash(self) -> None:
        """Kill all its processes at once: it can put nothing in order, and say nothing."""
        self._order("crash")
        _wait(lambda: why_not(self.url) is not None, self._recipe, self._log)

    def start(self) -> None:
        """Start it on the data that it left, and come back when it answers."""
        self._order("start")
        _wait_until_it_answers(self._recipe, self._log)

    def _order(self, order: str) -> None:
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(f"{order}\n".encode())
        self._keeper.stdin.flush()


def pgbouncer(server: URL, pool_mode: str) -> Cook:
    """Tell how to make a pooler that leads to every database of `server`."""

    def cook(directory: Path, port: int) -> Recipe | None:
        program = program_of_pgbouncer()
        if program is None:
            return None
        address = {**server.translate_connect_args(username="user"), **server.query}
        address.pop("database", None)
        settings = {
            "listen_addr": "127.0.0.1",
            "listen_port": port,
            "unix_socket_dir": "",
            "auth_type": "any",
            "pool_mode": pool_mode,
            # Few, so that one connection serves many clients in turn.
            "default_pool_size": 4,
        }
        (directory / "ini").write_text(
            f"[databases]\n* = {_pairs(address, ' ')}\n[pgbouncer]\n{_pairs(settings, chr(10))}\n"
        )
        return Recipe(
            account="postgres",
            initialize=["true"],
            serve=[str(program), str(directory / "ini")],
            hasty=[],
            stop_signal="KILL",  # it keeps nothing, and what the others mean changed with 1.23
            url=server.set(host="127.0.0.1", port=port, query={}).render_as_string(
                hide_password=False
            ),
        )

    return cook


def program_of_pgbouncer() -> Path | None:
    return _program("pgbouncer", "/usr/sbin", "/usr/local/sbin")


def _pairs(values: Mapping[str, object], separator: str) -> str:
    return separator.join(f"{key} = {value}" for key, value in values.items())


@contextmanager
def private_server(cook: Cook) -> Iterator[URL | None]:
    """Run a server until the block ends; give None where its programs are missing."""
    with _recipe(cook) as (recipe, directory):
        if recipe is None:
            yield None
        else:
            with _kept(replace(recipe, serve=[*recipe.serve, *recipe.hasty]), directory):
                yield make_url(recipe.url)


@contextmanager
def crashing_server(cook: Cook) -> Iterator[CrashingServer | None]:
    """Run a durable server until the block ends; give None where its programs are missing."""
    with _recipe(cook) as (recipe, directory):
        if recipe is None:
            yield None
        else:
            with _kept(recipe, directory) as keeper:
                yield CrashingServer(recipe, directory, keeper)


@contextmanager
def _recipe(cook: Cook) -> Iterator[tuple[Recipe | None, Path]]:
    directory = Path(tempfile.mkdtemp(prefix="geneva-server-"))
    try:
        yield cook(directory, _free_port()), directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class _Surroundings(TypedDict):
    stdout: BinaryIO
    stderr: int
    cwd: Path
    user: int | None
    group: int | None
    extra_groups: list[int] | None


@contextmanager
def _kept(recipe: Recipe, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    account = _account(recipe.account)
    if account is not None:
        os.chown(directory, account.pw_uid, account.pw_gid)
    log = directory / "log"
    with log.open("wb") as output:
        surroundings = _Surroundings(
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=directory,
            user=account and account.pw_uid,
            group=account and account.pw_gid,
            extra_groups=account and [],
        )
        made = subprocess.run(
            recipe.initialize, check=False, stdin=subprocess.DEVNULL, **surroundings
        )
        if made.returncode != 0:
            raise DidNotStart(recipe.initialize[0], _last_line(log))
        keeper = subprocess.Popen(
            ["sh", "-c", KEEPER, "sh", str(directory), recipe.stop_signal, *recipe.serve],
            stdin=subprocess.PIPE,
            # Ctrl-C is for the test run, which still has databases to drop.
            start_new_session=True,
            **surroundings,
        )
    try:
        _wait_until_it_answers(recipe, log)
        yield keeper
    finally:
        keeper.communicate()


def why_not(url: URL) -> str | None:
    """Say why nobody answers at `url`, or None when the server does."""
    engine = create_engine(url, poolclass=NullPool, connect_args={"connect_timeout": 3})
    try:
        with engine.connect():
            return None
    except DBAPIError as error:
        return str(error.orig).strip().splitlines()[-1]


def _wait_until_it_answers(recipe: Recipe, log: Path) -> None:
    _wait(lambda: why_not(make_url(recipe.url)) is None, recipe, log)


def _wait(condition: Callable[[], bool], recipe: Recipe, log: Path) -> None:
    deadline = time.monotonic() + START_LIMIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise DidNotStart(recipe.serve[0], _last_line(log))
        time.sleep(0.1)


def _last_line(log: Path) -> str:
    return (log.read_text(errors="replace").strip().splitlines() or ["it said nothing"])[-1]


def _account(name: str) -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return pwd.getpwnam("nobody")


def _program(name: str, *folders: str) -> Path | None:
    on_path = shutil.which(name)
    if on_path is not None:
        return Path(on_path).resolve()
    elsewhere = [path for folder in folders for path in Path("/").glob(f"{folder[1:]}/{name}")]
    return max(elsewhere, key=_version, default=None)


def _version(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
