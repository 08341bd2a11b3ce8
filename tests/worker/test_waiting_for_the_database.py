"""A step whose library calls meet a database in trouble waits for it, and is not to blame."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import event, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

import geneva_drive as gd
from tests.engines import trace
from tests.heroes import User, names, save
from tests.worker.conftest import MakeDrive
from tests.worker.faults import outage
from tests.worker.watching import Watch, rows_of, wait, wait_until, wait_until_draining


class Child(gd.Workflow):
    type_name = "test_waiting.Child"

    @gd.step
    def work(self) -> None: ...


@dataclass
class Meeting:
    """Where a body waits for the outage, and how often it has run."""

    begun: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    bodies: list[str] = field(default_factory=list)

    def hold(self) -> None:
        self.begun.set()
        wait(self.release)


def during_an_outage(
    drive: gd.Drive, meeting: Meeting, caplog: pytest.LogCaptureFixture, *, worker: gd.Drive
) -> None:
    """Run a worker whose step meets an outage that lasts until it is noticed."""
    watch = Watch(worker)
    with worker.worker(concurrency=1):
        wait(meeting.begun)
        with outage(worker):
            meeting.release.set()
            wait_until(lambda: waiting_lines(caplog), "the step waits for the database")
        watch.wait_for(
            lambda: [one for one in watch.workflows("finished") if one.type != Child.type_name],
            "the end",
        )


def waiting_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [m for m in caplog.messages if m.startswith("Waiting for the database")]


def read_hero(self: gd.Workflow[Any]) -> object:
    return self.hero.name


def read_result(self: gd.Workflow[Any]) -> object:
    return self.result_of("first")


def start_child(self: gd.Workflow[Any]) -> object:
    return Child.create(idempotency_key="once")


@pytest.mark.parametrize("call", [read_hero, read_result, start_child])
def test_a_call_of_a_body_waits_for_an_outage_to_end(
    geneva: gd.Drive,
    make_drive: MakeDrive,
    users: None,
    caplog: pytest.LogCaptureFixture,
    call: Callable[[gd.Workflow[Any]], object],
) -> None:
    meeting = Meeting()

    class Signup(gd.Workflow[User]):
        may_proceed_without_hero = True  # so that the body loads it, and not the check before

        @gd.step(keep_result=True)
        def first(self) -> int:
            return 7

        @gd.step
        def work(self) -> None:
            meeting.bodies.append("work")
            meeting.hold()
            call(self)

    signup = Signup.create(hero=save(geneva, User(name="Ada")))
    during_an_outage(geneva, meeting, caplog, worker=make_drive())

    assert meeting.bodies == ["work"]
    assert rows_of(signup) == [("first", "completed", "success"), ("work", "completed", "success")]
    assert len(waiting_lines(caplog)) == 1


def find(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> object:
    return drive.workflows(Child).find(workflow.id)


def reload(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> object:
    return workflow.reload()


def read_history(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> object:
    return workflow.step_executions


def query(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> object:
    return drive.workflows(Child).ongoing().ids()


def count(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> object:
    return drive.workflows(Child).ongoing().count()


# They issue no SQL of their own: one database is enough.
@pytest.mark.databases("sqlite")
@pytest.mark.parametrize("look", [find, reload, read_history, query, count])
def test_a_body_that_looks_at_other_workflows_waits_for_an_outage_to_end(
    geneva: gd.Drive,
    make_drive: MakeDrive,
    caplog: pytest.LogCaptureFixture,
    look: Callable[[gd.Drive, gd.WorkflowHandle[Any]], object],
) -> None:
    meeting, drive = Meeting(), make_drive()
    other = drive.workflows(Child).create()

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            meeting.bodies.append("work")
            meeting.hold()
            look(drive, other)

    task = Task.create()
    during_an_outage(geneva, meeting, caplog, worker=drive)

    assert meeting.bodies == ["work"]
    assert rows_of(task) == [("work", "completed", "success")]


def test_a_condition_that_reads_the_hero_waits(
    geneva: gd.Drive, make_drive: MakeDrive, users: None, caplog: pytest.LogCaptureFixture
) -> None:
    meeting = Meeting()

    class Signup(gd.Workflow[User]):
        may_proceed_without_hero = True

        def is_known(self) -> bool:
            meeting.hold()
            return self.hero.name == "Ada"

        @gd.step(skip_if="is_known")
        def work(self) -> None: ...

    signup = Signup.create(hero=save(geneva, User(name="Ada")))
    during_an_outage(geneva, meeting, caplog, worker=make_drive())

    assert rows_of(signup) == [("work", "skipped", "skipped_by_condition")]


def test_a_limit_is_asked_again(
    geneva: gd.Drive, make_drive: MakeDrive, caplog: pytest.LogCaptureFixture
) -> None:
    meeting = Meeting()

    class Task(gd.Workflow):
        def is_needless(self) -> bool:
            meeting.hold()
            return False

        @gd.step(skip_if="is_needless", limit=gd.Limit(key="one", concurrency=1))
        def work(self) -> None:
            meeting.bodies.append("work")

    task = Task.create()
    during_an_outage(geneva, meeting, caplog, worker=make_drive())

    assert meeting.bodies == ["work"]
    assert rows_of(task) == [("work", "completed", "success")]


def test_a_loop_over_records_reads_its_next_chunk_again(
    geneva: gd.Drive, make_drive: MakeDrive, users: None, caplog: pytest.LogCaptureFixture
) -> None:
    for name in "abc":
        save(geneva, User(name=name))
    meeting = Meeting()

    class Task(gd.Workflow):
        @gd.resumable_step(checkpoint_every=10)
        def work(self, it: gd.IterableStep) -> None:
            for user in it.iterate_over_records(select(User), chunk=2):
                meeting.bodies.append(user.name)
                if user.name == "b":
                    meeting.hold()

    task = Task.create()
    during_an_outage(geneva, meeting, caplog, worker=make_drive())

    assert meeting.bodies == ["a", "b", "c"]
    assert rows_of(task) == [("work", "completed", "success")]


def test_a_checkpoint_waits(
    geneva: gd.Drive, make_drive: MakeDrive, caplog: pytest.LogCaptureFixture
) -> None:
    meeting = Meeting()

    class Task(gd.Workflow):
        @gd.resumable_step
        def work(self, it: gd.IterableStep) -> None:
            for letter in it.iterate_over("abc"):
                meeting.bodies.append(letter)
                if letter == "b":
                    meeting.hold()

    task = Task.create()
    during_an_outage(geneva, meeting, caplog, worker=make_drive())

    assert meeting.bodies == ["a", "b", "c"]
    assert rows_of(task) == [("work", "completed", "success")]


def test_a_transaction_is_opened_once_the_database_is_back(
    geneva: gd.Drive, make_drive: MakeDrive, caplog: pytest.LogCaptureFixture
) -> None:
    meeting = Meeting()

    class Task(gd.Workflow):
        def is_needless(self) -> bool:
            meeting.hold()
            return False

        @gd.step(transaction=True, skip_if="is_needless")
        def work(self, session: Session) -> None:
            meeting.bodies.append("work")

    task = Task.create()
    during_an_outage(geneva, meeting, caplog, worker=make_drive(max_recoveries=0))

    assert meeting.bodies == ["work"]
    assert rows_of(task) == [("work", "completed", "success")]


def test_a_loader_that_meets_a_database_in_trouble_is_called_again(
    geneva: gd.Drive, make_drive: MakeDrive, caplog: pytest.LogCaptureFixture
) -> None:
    driver: Any = geneva.engine.dialect.dbapi
    calls: list[str] = []

    def load(hero_id: str) -> str:
        calls.append(hero_id)
        if len(calls) < 3:
            raise driver.OperationalError(*GONE[geneva.engine.dialect.name])
        return f"hero {hero_id}"

    gd.register_hero("WaitedFor", load)

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            assert self.hero == "hero 7"

    task = Task.create(hero=gd.HeroRef("WaitedFor", "7"))
    make_drive().worker().run_until_idle()

    assert calls == ["7", "7", "7"]
    assert rows_of(task) == [("work", "completed", "success")]


def test_a_transactional_body_waits_for_the_database_of_its_hero(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    driver: Any = geneva.engine.dialect.dbapi
    calls: list[str] = []

    def load(hero_id: str) -> str:
        calls.append(hero_id)
        if len(calls) < 7:
            raise driver.OperationalError(*GONE[geneva.engine.dialect.name])
        return f"hero {hero_id}"

    gd.register_hero("InAnotherDatabase", load)

    class Task(gd.Workflow):
        may_proceed_without_hero = True  # so that the body loads it, and not the check before

        @gd.step(transaction=True)
        def work(self, session: Session) -> None:
            assert self.hero == "hero 7"

    task = Task.create(hero=gd.HeroRef("InAnotherDatabase", "7"))
    make_drive(max_recoveries=0).worker().run_until_idle()

    assert len(calls) == 7
    assert rows_of(task) == [("work", "completed", "success")]


def test_a_loader_that_fails_by_itself_fails_the_step(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    def load(hero_id: str) -> str:
        raise ValueError("no such file")

    gd.register_hero("NeverFound", load)

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    task = Task.create(hero=gd.HeroRef("NeverFound", "7"))
    make_drive().worker().run_until_idle()

    assert rows_of(task) == [("work", "failed", "paused_by_exception")]


GONE: dict[str, tuple[Any, ...]] = {
    "sqlite": ("unable to open database file",),
    "postgresql": ("connection refused",),
    "mysql": (2003, "Can't connect to server"),
}
READ_ONLY: dict[str, tuple[Any, ...]] = {
    "sqlite": ("attempt to write a readonly database",),
    "mysql": (1290, "The server is running with the --read-only option"),
}
BUSY: dict[str, tuple[Any, ...]] = {
    "sqlite": ("database is locked",),
    "mysql": (1969, "Query execution was interrupted (max_statement_time exceeded)"),
}


@contextmanager
def refusing(drive: gd.Drive, words: str, error: Exception) -> Iterator[list[str]]:
    """Refuse every statement with these words in it; gives those refused."""
    refused: list[str] = []
    is_on = True

    def refuse(_: Any, __: Any, statement: str, *___: Any) -> None:
        if is_on and words in statement:
            refused.append(statement)
            raise error

    event.listen(drive.engine, "before_cursor_execute", refuse)
    trace(drive.engine)
    try:
        yield refused
    finally:
        is_on = False


def busy_error(drive: gd.Drive) -> Exception:
    driver: Any = drive.engine.dialect.dbapi
    if drive.engine.dialect.name == "postgresql":
        error: Exception = driver.errors.QueryCanceled(
            "canceling statement due to statement timeout"
        )
        return error
    made: Exception = driver.OperationalError(*BUSY[drive.engine.dialect.name])
    return made


def read_only_error(drive: gd.Drive) -> Exception:
    driver: Any = drive.engine.dialect.dbapi
    if drive.engine.dialect.name == "postgresql":
        error: Exception = driver.errors.ReadOnlySqlTransaction("cannot execute INSERT")
        return error
    made: Exception = driver.OperationalError(*READ_ONLY[drive.engine.dialect.name])
    return made


SHORT = {"lease": 0.3, "heartbeat_interval": 0.1}


def test_past_the_lease_the_execution_is_released_and_no_recovery_is_counted(
    geneva: gd.Drive, make_drive: MakeDrive, users: None
) -> None:
    drive = make_drive(max_recoveries=0, **SHORT)
    watch = Watch(drive)

    class Signup(gd.Workflow[User]):
        @gd.step
        def work(self) -> None: ...

    signup = Signup.create(hero=save(geneva, User(name="Ada")))
    driver: Any = drive.engine.dialect.dbapi
    gone = driver.OperationalError(*GONE[drive.engine.dialect.name])
    with refusing(drive, "test_users", gone), drive.worker():
        watch.wait_for_steps(2, "failed")
    drive.worker().run_until_idle()

    *given_back, last = rows_of(signup)
    assert set(given_back) == {("work", "failed", "recovered")}
    assert last == ("work", "completed", "success")
    said = signup.reload().execution_history[0].error_message
    assert said is not None
    assert said.startswith("Its worker gave up waiting for the database. The database at ")


def full_error(drive: gd.Drive) -> Exception:
    driver: Any = drive.engine.dialect.dbapi
    made: Exception
    if drive.engine.dialect.name == "postgresql":
        made = driver.errors.DiskFull("could not extend file: No space left on device")
    elif drive.engine.dialect.name == "mysql":
        made = driver.OperationalError(1114, "The table 'test_users' is full")
    else:
        made = driver.OperationalError("database or disk is full")
    return made


@pytest.mark.parametrize("error_of", [full_error, read_only_error], ids=["full", "standby"])
def test_a_database_that_cannot_be_written_longer_than_a_lease_is_no_fault_of_a_transactional_body(
    geneva: gd.Drive,
    make_drive: MakeDrive,
    users: None,
    error_of: Callable[[gd.Drive], Exception],
) -> None:
    drive = make_drive(max_recoveries=0, **SHORT)
    watch = Watch(drive)

    class Signup(gd.Workflow):
        @gd.step(transaction=True)
        def work(self, session: Session) -> None:
            session.add(User(name="Ada"))

    signup = Signup.create()
    with refusing(drive, "INSERT INTO test_users", error_of(drive)), drive.worker():
        watch.wait_for_steps(1, "failed")
    drive.worker().run_until_idle()

    *given_back, last = rows_of(signup)
    assert set(given_back) == {("work", "failed", "recovered")}
    assert last == ("work", "completed", "success")
    assert names(geneva) == ["Ada"]


@pytest.mark.databases("sqlite")  # no SQL of its own
def test_an_execution_is_released_too_if_a_task_group_waited_in_vain(
    geneva: gd.Drive, make_drive: MakeDrive, users: None
) -> None:
    drive = make_drive(**SHORT)
    watch = Watch(drive)

    class Signup(gd.Workflow[User]):
        may_proceed_without_hero = True  # so that the body loads it, and not the check before

        @gd.step
        async def work(self) -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.to_thread(lambda: self.hero))

    signup = Signup.create(hero=save(geneva, User(name="Ada")))
    driver: Any = drive.engine.dialect.dbapi
    gone = driver.OperationalError(*GONE[drive.engine.dialect.name])
    with refusing(drive, "test_users", gone), drive.worker():
        watch.wait_for_steps(1, "failed")

    assert rows_of(signup)[0] == ("work", "failed", "recovered")


def test_a_hero_query_that_times_out_for_ten_leases_fails_the_step(
    geneva: gd.Drive, make_drive: MakeDrive, users: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = make_drive(**SHORT)
    watch = Watch(drive)

    class Signup(gd.Workflow[User]):
        @gd.step(on_exception="cancel")
        def work(self) -> None: ...

    signup = Signup.create(hero=save(geneva, User(name="Ada")))
    with refusing(drive, "test_users", busy_error(drive)), drive.worker():
        watch.wait_for_workflows(1, "canceled")

    recovered = [("work", "failed", "recovered")] * 9
    assert rows_of(signup) == [*recovered, ("work", "failed", "canceled_by_exception")]
    last = signup.reload().execution_history[-1]
    assert last.error_class == "geneva_drive.errors.DatabaseBusy"


def test_a_worker_in_trouble_says_so_to_whoever_asks_why(
    geneva: gd.Drive, make_drive: MakeDrive, users: None
) -> None:
    drive = make_drive(heartbeat_interval=0.05)

    class Signup(gd.Workflow[User]):
        @gd.step
        def work(self) -> None: ...

    signup = Signup.create(hero=save(geneva, User(name="Ada")))
    driver: Any = drive.engine.dialect.dbapi
    gone = driver.OperationalError(*GONE[drive.engine.dialect.name])
    with refusing(drive, "test_users", gone), drive.worker():
        wait_until(lambda: " Its worker waits: The database at" in signup.why(), "why() says so")


def test_a_worker_that_stops_waits_no_longer(
    geneva: gd.Drive, make_drive: MakeDrive, users: None
) -> None:
    drive = make_drive()

    class Signup(gd.Workflow[User]):
        @gd.step
        def work(self) -> None: ...

    signup = Signup.create(hero=save(geneva, User(name="Ada")))
    driver: Any = drive.engine.dialect.dbapi
    gone = driver.OperationalError(*GONE[drive.engine.dialect.name])
    with refusing(drive, "test_users", gone) as refused, drive.worker():
        wait_until(lambda: refused, "the hero is asked for in vain")

    assert rows_of(signup) == [("work", "failed", "recovered"), ("work", "scheduled", None)]
    said = signup.reload().execution_history[0].error_message
    assert said is not None
    assert said.startswith("Its worker was stopped while it waited for the database. ")


def test_a_deadlock_while_the_worker_stops_repeats_the_transactional_body(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive()
    begun = threading.Event()
    bodies: list[str] = []

    class Task(gd.Workflow):
        @gd.step(transaction=True)
        def work(self, session: Session) -> None:
            bodies.append("work")
            if len(bodies) == 1:
                begun.set()
                wait_until_draining()
                raise OperationalError("UPDATE", None, busy_error(drive))

    task = Task.create()
    with drive.worker():
        wait(begun)

    assert bodies == ["work", "work"]
    assert rows_of(task) == [("work", "completed", "success")]


def test_a_transactional_body_that_only_meets_locks_while_its_worker_stops_is_given_back(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive()
    begun = threading.Event()

    class Task(gd.Workflow):
        @gd.step(transaction=True)
        def work(self, session: Session) -> None:
            begun.set()
            wait_until_draining()
            raise OperationalError("UPDATE", None, busy_error(drive))

    task = Task.create()
    with drive.worker():
        wait(begun)

    assert rows_of(task) == [("work", "failed", "recovered"), ("work", "scheduled", None)]
