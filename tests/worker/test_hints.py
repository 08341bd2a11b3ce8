"""Workers hear of what other processes leave due, long before they would look for it."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.storage.dialects import driver
from geneva_drive.storage.dialects.postgresql import notices
from geneva_drive.storage.dialects.postgresql.notices import COALESCED, Notices
from geneva_drive.worker.listener import Listener
from geneva_drive.worker.poller import PollResult
from tests.worker.conftest import MakeDrive
from tests.worker.watching import TIME_LIMIT, Watch, wait, wait_until

CHANNEL = "geneva_drive_due"
# Nothing but a hint ends a rest of ten minutes within a test's time limit.
RESTING = {"poll_interval": "10m", "lease": "1h", "heartbeat_interval": "10m"}
FIRST_REST = "geneva_drive.worker.poller._FIRST_REST"
ON_POSTGRESQL = pytest.mark.databases("postgresql")  # only it has NOTIFY and LISTEN
WITH_HINTS = pytest.mark.databases("sqlite", "postgresql")


class Task(gd.Workflow[Any]):
    type_name = "test_hints.Task"

    @gd.step
    def work(self) -> None: ...


class Stopping(gd.Workflow[Any]):
    """Pauses by itself, again and again."""

    type_name = "test_hints.Stopping"

    @gd.step
    def stop_here(self) -> None:
        if self.attempt == 1:
            self.pause()

    @gd.step
    def go_on(self) -> None: ...


class Held(gd.Workflow[Any]):
    """Runs until the test lets it end."""

    type_name = "test_hints.Held"
    entered = threading.Event()
    may_end = threading.Event()

    @gd.step
    def hold(self) -> None:
        Held.entered.set()
        wait(Held.may_end)


@pytest.fixture
def resting(make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch) -> gd.Drive:
    """A Drive whose workers look for work once, and then rest until they are woken.

    So each hint has to be sent: elsewhere one stands for those that follow shortly, as whoever was
    woken looks again after a moment.
    """
    monkeypatch.setattr(FIRST_REST, 600.0)
    monkeypatch.setattr(notices, "COALESCED", timedelta(0))
    return make_drive(**RESTING)


@pytest.fixture
def heard(geneva: gd.Drive) -> Iterator[Callable[[], list[str]]]:
    """Tell whose notices came since the last call, on a connection of the test's own."""
    url = geneva.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'LISTEN "{CHANNEL}"')

        def hear() -> list[str]:
            connection.execute("SELECT 1")  # brings what is under way
            return [notice.payload for notice in connection.notifies(timeout=0)]

        yield hear


def listeners(drive: gd.Drive) -> list[int]:
    """The server's processes that serve connections on which somebody listens for hints."""
    query = text(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = :listen"
    )
    with drive.engine.connect() as connection:
        return list(connection.scalars(query, {"listen": f'LISTEN "{CHANNEL}"'}))


def wait_for_listener(drive: gd.Drive, other_than: tuple[int, ...] = ()) -> int:
    wait_until(lambda: set(listeners(drive)) - set(other_than), "somebody listens")
    [pid] = set(listeners(drive)) - set(other_than)
    return pid


def listening_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "listening" in thread.name]


def create_one_by_one(drive: gd.Drive, watch: Watch, count: int) -> None:
    """Create each when the former has ended: a worker cannot find all of them by chance."""
    for number in range(1, count + 1):
        Task.using(drive).create()
        watch.wait_for_workflows(number)


@WITH_HINTS
def test_a_worker_runs_at_once_what_another_drive_creates(
    geneva: gd.Drive, resting: gd.Drive
) -> None:
    watch = Watch(resting)

    with resting.worker():
        create_one_by_one(geneva, watch, 10)

    assert Task.finished().count() == 10


def test_a_worker_runs_at_once_what_its_own_drive_creates(
    geneva: gd.Drive, make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FIRST_REST, 600.0)
    drive = make_drive(**RESTING, notify="off")
    watch = Watch(drive)

    with drive.worker():
        create_one_by_one(drive, watch, 10)

    assert Task.finished().count() == 10


def test_polling_finds_what_nobody_gave_a_hint_of(geneva: gd.Drive, make_drive: MakeDrive) -> None:
    drive = make_drive(notify="off", poll_interval="50ms")
    watch = Watch(drive)

    with drive.worker():
        create_one_by_one(geneva, watch, 3)
        threads = listening_threads()

    assert threads == []
    assert Task.finished().count() == 3


@pytest.mark.databases("mysql")  # the others have hints
def test_on_mysql_polling_finds_everything(geneva: gd.Drive, make_drive: MakeDrive) -> None:
    drive = make_drive(poll_interval="50ms")
    watch = Watch(drive)

    with drive.worker():
        create_one_by_one(geneva, watch, 3)
        threads = listening_threads()

    assert threads == []
    assert Task.finished().count() == 3


@ON_POSTGRESQL
def test_a_listening_connection_that_is_killed_is_made_anew(
    geneva: gd.Drive, resting: gd.Drive, caplog: pytest.LogCaptureFixture
) -> None:
    watch = Watch(resting)

    with resting.worker():
        first = wait_for_listener(geneva)
        with geneva.engine.begin() as connection:
            connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": first})
        wait_for_listener(geneva, other_than=(first,))
        create_one_by_one(geneva, watch, 10)

    assert Task.finished().count() == 10
    (told,) = [record for record in caplog.records if "Listening" in record.getMessage()]
    assert (told.levelname, "\n" in told.getMessage(), told.exc_info) == ("WARNING", False, None)
    assert not [record for record in caplog.records if record.name.startswith("sqlalchemy")]


@ON_POSTGRESQL
def test_a_stopped_worker_listens_no_more(geneva: gd.Drive, resting: gd.Drive) -> None:
    worker = resting.worker()
    worker.start()
    wait_for_listener(geneva)

    worker.stop()

    assert listening_threads() == []
    wait_until(lambda: not listeners(geneva), "the server knows that the connection is closed")
    with resting.engine.connect() as one, resting.engine.connect() as two:
        channels = [list(c.scalars(text("SELECT pg_listening_channels()"))) for c in (one, two)]
    assert channels == [[], []]


def test_a_stopped_worker_leaves_no_file_open(
    database: str, geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    def work() -> int:
        drive = make_drive()
        watch = Watch(drive)
        with drive.worker():
            Task.using(drive).create()
            watch.wait_for_workflows(1)
        drive.close()
        return len(os.listdir("/dev/fd"))

    before = work()  # what is opened once for all is open now

    assert work() == before


@ON_POSTGRESQL
def test_a_listener_that_outlives_its_worker_leaves_no_file_open_either(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    reached, answer = threading.Event(), threading.Event()
    before = len(os.listdir("/dev/fd"))
    drive = make_drive()
    watch = drive.environment.wakeups.hints.watch(lambda _: None)
    assert watch is not None
    listening = Listener(watch)

    @event.listens_for(drive.engine, "checkout")
    def keep_silent(*_: Any) -> None:
        reached.set()
        wait(answer)

    listening.start()
    wait(reached)
    listening.stop(timeout=0)
    outlived = listening_threads()
    answer.set()
    wait_until(lambda: not listening_threads(), "the thread that was left behind ends")
    drive.close()

    assert outlived == ["geneva-listening"]
    assert len(os.listdir("/dev/fd")) == before


def test_listening_takes_nothing_from_a_users_pool_of_one_connection(
    geneva: gd.Drive, resting: gd.Drive
) -> None:
    engine = create_engine(geneva.engine.url, pool_size=1, max_overflow=0, pool_timeout=5)
    drive = gd.Drive(engine, **RESTING)
    watch = Watch(drive)

    with drive.worker(concurrency=1):
        create_one_by_one(drive, watch, 3)

    engine.dispose()
    assert Task.finished().count() == 3


@ON_POSTGRESQL
def test_notices_that_follow_shortly_are_left_out(
    geneva: gd.Drive, heard: Callable[[], list[str]]
) -> None:
    moments = iter([100.0, 100.004, 100.006, 100.010, 100.011])
    write = geneva.store.write
    notices = Notices(geneva.engine, CHANNEL, write, clock=lambda: next(moments))

    for _ in range(5):
        notices.send()

    assert COALESCED.total_seconds() == 0.005
    assert len(heard()) == 2  # at 100.0 and 100.006; 100.011 is within the time of the second


@ON_POSTGRESQL
def test_a_start_that_is_refused_keeps_no_other_notice_back(
    geneva: gd.Drive, heard: Callable[[], list[str]]
) -> None:
    moment = [100.0]
    wakeups = geneva.environment.wakeups
    wakeups.hints = Notices(geneva.engine, CHANNEL, geneva.store.write, clock=lambda: moment[0])
    Task.create(idempotency_key="one")
    assert len(heard()) == 1

    moment[0] = 200.0
    Task.create(idempotency_key="one")
    assert heard() == []
    Task.create()
    Task.create()

    assert len(heard()) == 1


@ON_POSTGRESQL
def test_a_drives_own_notices_wake_its_workers_no_second_time(geneva: gd.Drive) -> None:
    own = Notices(geneva.engine, CHANNEL, geneva.store.write, clock=itertools.count().__next__)
    others = Notices(geneva.engine, CHANNEL, geneva.store.write)
    rings: list[float] = []
    watch = own.watch(lambda _: rings.append(time.monotonic()))
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    wait_until(lambda: len(rings) == 1, "it listens")

    for _ in range(20):
        own.send()
    others.send()
    wait_until(lambda: len(rings) > 1, "the other's notice is heard")
    watch.stop()
    thread.join(TIME_LIMIT)
    watch.close()

    assert len(rings) == 2


@pytest.mark.databases("sqlite")  # elsewhere nothing is sent when a loop saves its position
def test_what_a_loop_saves_wakes_no_worker_of_its_process(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive, saving = make_drive(), geneva.store.database.driver
    rings: list[float] = []
    looks: list[str] = []
    watch = geneva.environment.wakeups.hints.watch(lambda _: rings.append(time.monotonic()))
    assert watch is not None
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    wait_until(lambda: len(rings) == 1, "it looks")
    with saving as cursor:
        cursor.connection.set_trace_callback(looks.append)

    with saving as cursor:
        cursor.execute("PRAGMA user_version = 7")
    seen = len(looks)
    wait_until(lambda: len(looks) >= seen + 2, "it looked again")
    rings_of_own = len(rings)
    Task.using(drive).create()
    wait_until(lambda: len(rings) > 1, "the other's commit is heard of")
    watch.stop()
    thread.join(TIME_LIMIT)
    watch.close()

    assert rings_of_own == 1


@ON_POSTGRESQL
def test_all_of_many_run_although_few_notices_are_sent(
    geneva: gd.Drive,
    make_drive: MakeDrive,
    heard: Callable[[], list[str]],
) -> None:
    drive = make_drive(**RESTING)
    watch = Watch(drive)
    # A millisecond between two looks at the clock, however slow the machine.
    milliseconds = itertools.count()
    geneva.environment.wakeups.hints = Notices(
        geneva.engine, CHANNEL, geneva.store.write, clock=lambda: next(milliseconds) / 1000
    )

    with drive.worker():
        for _ in range(200):
            Task.using(geneva).create()
        sent = len(heard())
        watch.wait_for_workflows(200)

    assert 0 < sent < 200
    assert Task.finished().count() == 200


@ON_POSTGRESQL
def test_what_is_created_in_a_session_is_told_of_when_that_commits(
    geneva: gd.Drive, heard: Callable[[], list[str]]
) -> None:
    with Session(geneva.engine) as session:
        Task.create(session=session)
        before = len(heard())
        session.commit()
        after = len(heard())

    assert (before, after) == (0, 1)


@ON_POSTGRESQL
def test_what_is_created_on_a_connection_is_told_of_when_that_commits(
    geneva: gd.Drive, heard: Callable[[], list[str]]
) -> None:
    with geneva.engine.connect() as connection:
        Task.create(session=connection)
        before = heard()
        connection.commit()
        after = heard()

    assert (before, after) == ([], [""])


@ON_POSTGRESQL
def test_nothing_is_told_of_what_is_rolled_back(
    geneva: gd.Drive, heard: Callable[[], list[str]]
) -> None:
    with Session(geneva.engine) as session, geneva.engine.connect() as connection:
        Task.create(session=session)
        session.rollback()
        Task.create(session=connection)
        connection.rollback()

    assert heard() == []


def in_a_session(drive: gd.Drive) -> None:
    with Session(drive.engine) as session:
        Task.using(drive).create(session=session)
        session.commit()


def on_a_connection(drive: gd.Drive) -> None:
    with drive.engine.begin() as connection:
        Task.using(drive).create(session=connection)


@WITH_HINTS
@pytest.mark.parametrize("create", [in_a_session, on_a_connection])
def test_a_worker_runs_at_once_what_is_created_in_anothers_transaction(
    create: Callable[[gd.Drive], None], geneva: gd.Drive, resting: gd.Drive
) -> None:
    watch = Watch(resting)

    with resting.worker():
        for number in range(1, 11):
            create(geneva)
            watch.wait_for_workflows(number)

    assert Task.finished().count() == 10


@WITH_HINTS
def test_a_worker_hears_of_what_is_created_on_a_connection_of_its_own_drive(
    resting: gd.Drive,
) -> None:
    watch = Watch(resting)

    with resting.worker():
        for number in range(1, 11):
            on_a_connection(resting)
            watch.wait_for_workflows(number)

    assert Task.finished().count() == 10


@WITH_HINTS
@pytest.mark.parametrize(
    "command",
    [
        lambda workflow: workflow.resume(),
        lambda workflow: workflow.resume_at("go_on"),
        lambda workflow: workflow.skip(),
    ],
    ids=["resume", "resume_at", "skip"],
)
def test_a_worker_goes_on_at_once_after_anothers_command(
    command: Callable[[gd.WorkflowHandle[Any]], Any],
    geneva: gd.Drive,
    resting: gd.Drive,
) -> None:
    watch = Watch(resting)

    with resting.worker():
        for number in range(1, 6):
            workflow = Stopping.create()
            watch.wait_for_workflows(number, "paused")
            command(workflow.reload())
            watch.wait_for_workflows(number, "finished")

    assert Stopping.finished().count() == 5


def what_the_poller_asks(drive: gd.Drive) -> list[str]:
    """Collect the kinds of the statements that a Drive's poller sends from now on."""
    asked: list[str] = []

    @event.listens_for(drive.engine, "after_cursor_execute")
    def collect(
        connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool
    ) -> None:
        # A kept connection forgets its plans once a second, however many rounds that are.
        is_asked = statement != "DISCARD PLANS"
        if is_asked and threading.current_thread().name == "geneva-poller":
            asked.append(kind_of(statement))

    return asked


def kind_of(statement: str) -> str:
    kinds = {"wakes_at IS NOT NULL": "look", "claimable": "claim"}
    return next((kind for part, kind in kinds.items() if part in statement), statement)


IDLE_ROUND = {
    "sqlite": ["claim", "look"],
    "postgresql": ["claim", "look"],
    "mysql": ["claim", "look"],
}


def test_an_idle_worker_claims_and_looks_for_the_next_sleeper_in_each_round(
    database: str, geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(poll_interval="20ms", notify="off")
    asked = what_the_poller_asks(drive)

    with drive.worker():
        wait_until(lambda: len(asked) >= 34, "fifteen idle rounds")

    # In the first one it makes sure, once, that there really is nothing left.
    first, others = asked[:4], asked[4:34]
    assert first == [*IDLE_ROUND[database], "claim", "claim"]
    assert others == IDLE_ROUND[database] * 15


def test_a_worker_that_is_told_of_what_comes_rests_sooner(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    poller = make_drive().worker()._poller  # which is not started
    untold = poller._next_rest(PollResult.NOTHING, 0.02, 1.0)

    poller._told_at = time.monotonic() - 1
    told = poller._next_rest(PollResult.NOTHING, 0.02, 1.0)

    assert (untold, told) == (0.04, 0.2)
    assert poller._next_rest(PollResult.NOTHING, told, 1.0) == 1.0
    assert poller._next_rest(PollResult.SOME, 1.0, 1.0) == 0.01


def test_a_worker_looks_soon_for_what_a_hint_stood_for(
    geneva: gd.Drive, make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("geneva_drive.worker.poller._GATHERED", 600.0)  # however slow the machine
    poller = make_drive().worker()._poller  # which is not started

    poller.hear(None)

    assert poller._next_rest(PollResult.NOTHING, 0.5, 1.0) == 0.01


@pytest.fixture
def claims(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Which execution each claim of this process named, None for those that looked for any."""
    named: list[Any] = []
    execute = driver.execute

    def note(connection: Connection, statement: str, values: Any) -> Any:
        if "SKIP LOCKED" in statement:
            named.append(values.get("named"))
        return execute(connection, statement, values)

    monkeypatch.setattr(driver, "execute", note)
    return named


@ON_POSTGRESQL
def test_an_idle_worker_takes_what_a_start_has_named_and_then_looks_for_more(
    geneva: gd.Drive, resting: gd.Drive, claims: list[Any]
) -> None:
    poller = resting.worker()._poller  # which is not started, and looks when it is told to
    poller._claim()
    named = Task.using(geneva).create().step_executions[0].id
    Task.using(geneva).create()
    del claims[:]

    poller.hear(str(named))
    found = [poller._claim(), poller._claim()]

    assert claims == [named, None]
    assert found == [PollResult.SOME, PollResult.SOME]
    assert poller._bell.is_set(), "nobody would look for more"


@ON_POSTGRESQL
def test_a_worker_that_was_busy_takes_the_most_urgent_and_not_what_was_named_last(
    geneva: gd.Drive, resting: gd.Drive, claims: list[Any]
) -> None:
    watch = Watch(resting)
    Held.entered.clear()
    Held.may_end.clear()
    with resting.worker(concurrency=1):
        wait_for_listener(resting)
        Held.using(geneva).create()
        wait(Held.entered)
        seen = len(claims)
        ordinary = Task.using(geneva).create(priority=1)
        urgent = Task.using(geneva).create(priority=9)
        last = Task.using(geneva).create()
        Held.may_end.set()
        watch.wait_for_workflows(4)

    assert set(claims[seen:]) <= {None}
    finished = [one.reload().finished_at for one in (urgent, ordinary, last)]
    assert None not in finished
    assert finished == sorted(finished)  # type: ignore[type-var]  # none of them is None


@ON_POSTGRESQL
def test_a_name_that_nobody_understands_is_a_hint_like_any_other(
    geneva: gd.Drive, resting: gd.Drive, claims: list[Any]
) -> None:
    watch = Watch(resting)
    with resting.worker() as worker:
        wait_for_listener(resting)
        wait_until(lambda: worker._poller._was_idle, "it rests")
        for number, payload in enumerate(("of another program: none", "x:1:2", ":"), start=1):
            seen = len(claims)
            with geneva.engine.begin() as connection:
                connection.execute(
                    text("SELECT pg_notify(:to, :what)"), {"to": CHANNEL, "what": payload}
                )
            wait_until(lambda seen=seen: len(claims) > seen, "it looks")  # type: ignore[misc]
            Task.using(geneva).create()
            watch.wait_for_workflows(number)

    assert Task.finished().count() == 3


@ON_POSTGRESQL
def test_a_worker_looks_after_it_was_asked_whether_its_connection_lives(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "_ALIVE_CHECK", timedelta(milliseconds=20))
    rings: list[str | None] = []
    watch = Notices(geneva.engine, CHANNEL, geneva.store.write).watch(rings.append)
    thread = threading.Thread(target=watch.run, daemon=True)
    thread.start()
    wait_until(lambda: len(rings) >= 3, "it rings although nothing was sent")
    watch.stop()
    thread.join(TIME_LIMIT)
    watch.close()

    assert set(rings) == {None}


@ON_POSTGRESQL
def test_what_a_start_names_is_what_it_has_started(
    geneva: gd.Drive, heard: Callable[[], list[str]]
) -> None:
    workflow = Task.create()

    [payload] = heard()

    sender, _, named = payload.partition(":")
    assert len(sender) == 16
    assert named == str(workflow.step_executions[0].id)


@ON_POSTGRESQL
def test_of_several_starts_heard_at_once_none_is_named(geneva: gd.Drive) -> None:
    notices = Notices(geneva.engine, CHANNEL, geneva.store.write)
    rings: list[str | None] = []
    watch = notices.watch(rings.append)
    with geneva.engine.begin() as connection:
        for payload in ("one:7", "one:7", "two:8", "two"):
            connection.execute(
                text("SELECT pg_notify(:to, :what)"), {"to": CHANNEL, "what": payload}
            )
        thread = threading.Thread(target=watch.run, daemon=True)
        thread.start()
        wait_until(lambda: len(rings) == 1, "it listens")
    wait_until(lambda: len(rings) == 2, "they are heard")
    with geneva.engine.begin() as connection:
        connection.execute(text("SELECT pg_notify(:to, 'two:8')"), {"to": CHANNEL})
    wait_until(lambda: len(rings) == 3, "another is heard")
    watch.stop()
    thread.join(TIME_LIMIT)
    watch.close()

    assert rings == [None, None, "8"]
