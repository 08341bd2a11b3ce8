"""Every test that asks for a database runs on SQLite, PostgreSQL and MySQL."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy import text

import geneva_drive as gd
from tests import browsers, engines
from tests.browsers import Browser, BrowserDoesNotStart, NoBrowser, find_browser
from tests.databases import ALL, ONE_SERVER, wanted
from tests.own_classes import own_classes as own_classes
from tests.own_classes import pytest_make_collect_report as pytest_make_collect_report
from tests.servers import (
    KINDS,
    Missing,
    NobodyAnswers,
    NoPgBouncer,
    Server,
    drop_remains,
    drop_run,
    find,
    find_pgbouncer,
    from_environment,
)

# A machine that runs the other tests beside is slow without anything being wrong.
settings.register_profile("beside", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("beside")

TESTS = Path(__file__).parent
_MEMORY = Path("/dev/shm")

Finding = Server | Missing | NoPgBouncer | Browser | NoBrowser
Findings = tuple[Finding, ...]
FINDINGS = pytest.StashKey[Findings]()
RUN = "GENEVA_TEST_RUN"


def pytest_configure(config: pytest.Config) -> None:
    unknown = set(wanted()) - set(ALL)
    if unknown:
        raise pytest.UsageError(
            f"GENEVA_TEST_DATABASES names {', '.join(sorted(unknown))}; there are {', '.join(ALL)}."
        )
    if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 4 << 30:
        # A disk would have to write each file of SQLite down, and twice as the test ends.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
    # Workers inherit the environment, in which the controller has put what it found.
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        config.stash[FINDINGS] = _find_servers(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what the collection makes out of every later look for garbage: it stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        # Few objects of a test are in cycles: looking for them took a tenth of the time.
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Spare `-m scenario` the modules without one: every process would import all of them."""
    is_alone = config.option.markexpr == "scenario" and collection_path.suffix == ".py"
    if is_alone and "pytest.mark.scenario" not in collection_path.read_text():
        return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Leave out the databases on which a test need not run: see `tests.databases`."""
    left_out = [item for item in items if not _is_wanted(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _is_wanted(item)]


def _is_wanted(item: pytest.Item) -> bool:
    marked = [mark.args for mark in item.iter_markers("databases")]
    params = item.callspec.params if hasattr(item, "callspec") else {}
    database = params.get("database")
    if marked:
        if database is None:
            raise pytest.UsageError(f"{item.nodeid} names databases, and asks for none.")
        return all(database in names for names in marked)
    chosen = ONE_SERVER.get(item.path.relative_to(TESTS).as_posix(), ALL)
    return database is None or database in chosen


def _find_servers(config: pytest.Config) -> Findings:
    run = os.environ[RUN] = str(os.getpid())
    stack = ExitStack()
    config.add_cleanup(stack.close)
    findings: list[Finding] = []
    try:
        findings += [find(KINDS[name], stack) for name in wanted() if name in KINDS]
        findings += [find_browser()] if _has_browser_tests(config) else []
    except (NobodyAnswers, BrowserDoesNotStart) as error:
        raise pytest.UsageError(str(error)) from error
    if "postgresql" in wanted():
        findings += filter(None, [find_pgbouncer()])
    for finding in findings:
        match finding:
            case Server():
                os.environ[finding.kind.variable] = finding.url.render_as_string(
                    hide_password=False
                )
                drop_remains(finding)
                stack.callback(drop_run, finding, run)
            case Browser():
                os.environ[browsers.VARIABLE] = finding.program
            case Missing() | NoPgBouncer() | NoBrowser():
                if os.environ.get("CI", "").lower() == "true":
                    raise pytest.UsageError(str(finding))
    return tuple(findings)


def _has_browser_tests(config: pytest.Config) -> bool:
    """True unless the run is of other tests: a browser is large to install."""
    asked = [Path(each.partition("::")[0]).absolute() for each in config.args]
    here = browsers.FOLDER
    return config.option.markexpr != "scenario" and any(
        here.is_relative_to(each) or each.is_relative_to(here) for each in asked
    )


@pytest.fixture(scope="session", autouse=True)
def fast_databases() -> Iterator[None]:
    with engines.compiling_once(), engines.emptying_fast(), engines.opening_fast():
        yield


def pytest_report_header(config: pytest.Config) -> list[str]:
    findings = config.stash.get(FINDINGS, ())
    return [
        *(f"{one.kind.label}: {one.origin}" for one in findings if isinstance(one, Server)),
        *(f"Browser: {one.origin}" for one in findings if isinstance(one, Browser)),
    ]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for finding in config.stash.get(FINDINGS, ()):
        if isinstance(finding, Missing | NoPgBouncer | NoBrowser):
            terminalreporter.write_line(f"SKIPPED: {finding}", red=True, bold=True)


@pytest.fixture
def time_is_up(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let the time of the body that began last be up, and of no other, however slow the machine."""
    made: list[threading.Timer] = []
    real = threading.Timer

    class Silent(real):  # type: ignore[misc, valid-type]
        def start(self) -> None:
            made.append(real(0, self.function, self.args))

    monkeypatch.setattr(threading, "Timer", Silent)
    return lambda: made[-1].start()


@pytest.fixture(scope="session", params=wanted())
def database(request: pytest.FixtureRequest) -> str:
    """The database that the test runs on: "sqlite", "postgresql" or "mysql"."""
    name: str = request.param
    if name in KINDS and from_environment(KINDS[name]) is None:
        pytest.skip(f"No {KINDS[name].label} server.")
    return name


@pytest.fixture(scope="session")
def create_database(worker_id: str) -> Callable[[str, str], str]:
    """Create an empty database of this worker's on a server; returns its URL."""

    def create(database: str, suffix: str) -> str:
        server = from_environment(KINDS[database])
        assert server is not None
        return server.create(f"geneva_test_{os.environ[RUN]}_{worker_id}_{suffix}")

    return create


@pytest.fixture(scope="session")
def worker_database(create_database: Callable[[str, str], str]) -> Callable[[str], str]:
    return functools.cache(lambda database: create_database(database, engines.LASTING))


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite database: copying it is a hundred times faster than migrating anew."""
    path = tmp_path_factory.mktemp("template") / "geneva.db"
    drive = gd.Drive(f"sqlite:///{path}")
    drive.migrate()
    drive.close()
    return path


@pytest.fixture
def migrated_sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    """A migrated SQLite database of this test alone."""
    shutil.copy(migrated_file, tmp_path / "geneva.db")
    return f"sqlite:///{tmp_path / 'geneva.db'}"


@pytest.fixture
def every_database_url(
    database: str, worker_database: Callable[[str], str], request: pytest.FixtureRequest
) -> str:
    """A migrated database on each of the databases, one after the other."""
    if database == "sqlite":
        url: str = request.getfixturevalue("migrated_sqlite_url")
        return url
    return worker_database(database)


@pytest.fixture
def geneva_database_url(every_database_url: str) -> str:
    """Where the `geneva` fixture lives; its tables are emptied between tests by the plugin."""
    return every_database_url


@pytest.fixture(scope="session")
def make_uuid_database(
    create_database: Callable[[str, str], str], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], str]:
    """Migrate a database with UUID keys once; tests empty it."""

    def make(database: str) -> str:
        if database == "sqlite":
            url = f"sqlite:///{tmp_path_factory.mktemp('uuid') / 'geneva.db'}"
        else:
            url = create_database(database, "uuid")
        drive = gd.Drive(url)
        with drive.engine.begin() as connection:
            connection.execute(text("CREATE TABLE users (id CHAR(36) PRIMARY KEY)"))
        drive.migrate()
        drive.close()
        return url

    return functools.cache(make)


@pytest.fixture
def uuid_drive(database: str, make_uuid_database: Callable[[str], str]) -> Iterator[gd.Drive]:
    """An empty, migrated Drive whose keys are UUIDs."""
    drive = gd.Drive(make_uuid_database(database))
    drive.store.write(drive.store.empty)
    yield drive
    drive.close()


@pytest.fixture
def empty_database_url(
    database: str, create_database: Callable[[str, str], str], tmp_path: Path
) -> str:
    """A database without any table, of this test alone."""
    if database == "sqlite":
        (tmp_path / "empty.db").touch()
        return f"sqlite:///{tmp_path / 'empty.db'}"
    return create_database(database, "empty")
