"""Everything works through PgBouncer, which may give each transaction another connection."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import make_url, text

import geneva_drive as gd
from tests.private_servers import pgbouncer, private_server
from tests.scenarios.conftest import (
    assert_all_orders_are_whole,
    wait_until_finished,
)
from tests.scenarios.processes import Process, wait_until
from tests.servers import POSTGRESQL, from_environment, with_query

pytestmark = [pytest.mark.scenario, pytest.mark.databases("postgresql")]

Through = Callable[..., gd.Drive]
LISTENING = text("SELECT pg_listening_channels()")
RESTING = {"poll_interval": "10m", "lease": "1h", "heartbeat_interval": "10m"}


class Journey(gd.Workflow[Any]):
    """A chain with a wait, a transaction and an asynchronous step."""

    type_name = "test_through_pgbouncer.Journey"

    @gd.step
    def pack(self) -> None: ...

    @gd.step(wait=0.05)
    def travel(self) -> None: ...

    @gd.step(transaction=True)
    def arrive(self, session: Any) -> None:
        session.execute(text("SELECT 1"))

    @gd.step
    async def rest(self) -> None: ...


class Single(gd.Workflow[Any]):
    type_name = "test_through_pgbouncer.Single"

    @gd.step
    def work(self) -> None: ...


def bouncer(pool_mode: str) -> Iterator[str]:
    server = from_environment(POSTGRESQL)
    if server is None:
        pytest.skip("No PostgreSQL server.")
    with private_server(pgbouncer(server.url, pool_mode)) as url:
        if url is None:
            pytest.skip("PgBouncer is not installed.")
        yield url.render_as_string(hide_password=False)


@pytest.fixture(scope="module")
def transaction_bouncer() -> Iterator[str]:
    yield from bouncer("transaction")


@pytest.fixture(scope="module")
def session_bouncer() -> Iterator[str]:
    yield from bouncer("session")


@pytest.fixture
def through(geneva_database_url: str) -> Iterator[Through]:
    """Make a Drive on the test's database that goes through a pooler."""
    with ExitStack() as stack:

        def make(bouncer_url: str, **settings: Any) -> gd.Drive:
            drive = gd.Drive(address(bouncer_url, geneva_database_url), **settings)
            stack.callback(drive.close)
            return drive

        yield make


@pytest.fixture
def no_first_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers rest for as long as they may from the first time on."""
    monkeypatch.setattr("geneva_drive.worker.poller._FIRST_REST", 600.0)


def address(bouncer_url: str, database_url: str) -> str:
    there = make_url(bouncer_url).set(database=make_url(database_url).database)
    return there.render_as_string(hide_password=False)


def create_one_by_one(drive: gd.Drive, watched: gd.Drive, count: int) -> None:
    """Create each when the former has ended: a worker cannot find all of them by chance."""
    for number in range(1, count + 1):
        Single.using(drive).create()
        wait_until_finished(watched, number)


def test_tables_are_made_through_a_pooler(
    transaction_bouncer: str, empty_database_url: str
) -> None:
    drive = gd.Drive(address(transaction_bouncer, empty_database_url))

    before, _ = drive.migrate()
    again, after = drive.migrate()

    drive.close()
    assert before is None
    assert again == after


def test_workflows_run_and_are_commanded_through_a_pooler(
    geneva: gd.Drive, through: Through, transaction_bouncer: str
) -> None:
    drive = through(transaction_bouncer, notify="off", poll_interval="50ms")
    held = [Single.using(drive).create(wait=timedelta(hours=1)) for _ in range(12)]

    with drive.worker(concurrency=8):
        journeys = [Journey.using(drive).create() for _ in range(40)]
        paused = [workflow.pause() for workflow in held[:6]]
        canceled = [workflow.cancel() for workflow in held[6:9]]
        skipped = [workflow.skip() for workflow in held[9:]]
        resumed = [workflow.resume_at("work") for workflow in paused]
        wait_until_finished(geneva, 40 + 6 + 3)

    assert [workflow.reload().state for workflow in canceled] == ["canceled"] * 3
    assert [workflow.reload().state for workflow in skipped] == ["finished"] * 3
    assert [workflow.reload().state for workflow in resumed] == ["finished"] * 6
    assert [e.outcome for e in geneva.executions(state="failed")] == []
    names = [[e.step_name for e in journey.step_executions] for journey in journeys]
    assert names == [["pack", "travel", "arrive", "rest"]] * 40


def test_worker_processes_share_the_connections_of_a_pooler(
    geneva: gd.Drive,
    effects: None,
    through: Through,
    transaction_bouncer: str,
    geneva_database_url: str,
    app: ModuleType,
) -> None:
    there = address(transaction_bouncer, geneva_database_url)
    drive = through(transaction_bouncer)
    workers = [Process(there, "worker", notify="off") for _ in range(2)]

    try:
        for worker in workers:
            worker.expect("ready")
        orders = [app.Order.using(drive).create() for _ in range(30)]
        wait_until_finished(geneva, 30)
        codes = [worker.terminate() for worker in workers]
    finally:
        for worker in workers:
            worker.clean_up()

    assert codes == [0, 0], [worker.complaints for worker in workers]
    assert_all_orders_are_whole(geneva, orders)
    assert [worker.complaints for worker in workers] == ["", ""]


def test_a_worker_that_would_hear_no_hints_is_told_so_and_polls(
    geneva: gd.Drive,
    through: Through,
    transaction_bouncer: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "geneva_drive.storage")
    drive = through(transaction_bouncer, poll_interval="50ms")

    with drive.worker():
        create_one_by_one(geneva, geneva, 3)
        wait_until(lambda: len(caplog.messages) == 2, "both lines are in the log")

    assert caplog.messages == [
        "PostgreSQL is reached through a pooler such as PgBouncer: no statements are prepared.",
        "This pooler does not forward hints: workers find due steps by polling.",
    ]


def test_hints_are_heard_through_a_pooler_that_lends_connections_by_session(
    geneva: gd.Drive, through: Through, session_bouncer: str, no_first_rests: None
) -> None:
    drive = through(session_bouncer, **RESTING)

    with drive.worker():
        create_one_by_one(geneva, geneva, 5)

    assert Single.finished().count() == 5


def test_what_is_created_through_a_pooler_is_heard_by_a_worker_beside_it(
    geneva: gd.Drive,
    through: Through,
    transaction_bouncer: str,
    geneva_database_url: str,
    no_first_rests: None,
) -> None:
    creating = through(transaction_bouncer)
    beside = gd.Drive(geneva_database_url, **RESTING)

    with beside.worker():
        create_one_by_one(creating, geneva, 5)

    beside.close()
    assert Single.finished().count() == 5


@pytest.mark.parametrize(
    ("query", "expected"),
    [({}, None), ({"prepare_threshold": "7"}, 7), ({"prepare_threshold": "none"}, None)],
)
def test_nothing_is_prepared_through_a_pooler_unless_the_url_says_so(
    query: dict[str, str], expected: int | None, through: Through, transaction_bouncer: str
) -> None:
    drive = through(with_query(transaction_bouncer, **query))

    with drive.engine.connect() as connection:
        driver: Any = connection.connection.driver_connection

        assert driver.prepare_threshold == expected


def test_no_session_of_a_pooler_is_left_listening(
    geneva: gd.Drive, through: Through, transaction_bouncer: str
) -> None:
    drive = through(transaction_bouncer)

    with drive.worker():
        create_one_by_one(geneva, geneva, 1)

    with ExitStack() as stack:
        connections = [stack.enter_context(drive.engine.connect()) for _ in range(4)]
        channels = {c for each in connections for c in each.scalars(LISTENING)}
    assert "geneva_drive_due" not in channels
