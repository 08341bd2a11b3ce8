"""Outcomes are committed in groups, and however long the database is away."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event

import geneva_drive as gd
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.commit.ended_run import EndedRun
from geneva_drive.engine.execution.group_commit import commit_endings
from geneva_drive.engine.transitions.outcome import Returned
from geneva_drive.worker import committer
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.committer import PendingOutcome
from geneva_drive.worker.flights import Flight, Flights
from geneva_drive.worker.identity import Identity
from geneva_drive.worker.performer import Performer, Stopping
from geneva_drive.worker.thread_pool import Pool
from tests.engines import trace
from tests.worker.conftest import MakeDrive
from tests.worker.faults import CommitFault, deadlock, outage
from tests.worker.watching import TIME_LIMIT, Watch, rows_of, wait, wait_until


@contextmanager
def _held_up(
    drive: gd.Drive, commits: list[str]
) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Let every commit say that it is reached, and wait to be released."""
    reached, release = threading.Event(), threading.Event()

    def hold(connection: Connection) -> None:
        # A kept connection forgets its plans once a second, in a transaction of its own.
        if not connection.info.pop("writes", False):
            return
        commits.append("commit")
        reached.set()
        wait(release)

    def look(connection: Connection, _: Any, statement: str, *__: Any) -> None:
        connection.info["writes"] = statement != "DISCARD PLANS"

    event.listen(drive.engine, "before_cursor_execute", look)
    event.listen(drive.engine, "commit", hold)
    trace(drive.engine)
    yield reached, release
    event.remove(drive.engine, "before_cursor_execute", look)
    event.remove(drive.engine, "commit", hold)


class _Group:
    """Outcomes that gather behind one whose transaction is held up."""

    def __init__(self, drive: gd.Drive, *, may_chain: bool = False) -> None:
        self._drive = drive
        self._may_chain = may_chain
        self._identity = Identity()
        self.submitted: list[Flight] = []  # to the pool, whose threads are not started
        self.kept: list[Flight | None] = []  # what each thread was given to go on with
        self._performer = Performer(
            drive.environment,
            self._identity,
            Flights(),
            concurrency=1,
            stopping=Stopping(),
            on_free=lambda: None,
            may_begin=lambda: True,
        )
        self.commits: list[str] = []

    def claim(self) -> list[Claimed]:
        return claim_due(self._drive.environment, self._identity, limit=100)

    def commit(self, claimed: list[Claimed]) -> None:
        """Submit all; the first is held up until the others wait behind it."""
        first, *others = self._performer.flights.add(claimed)
        with (
            pytest.MonkeyPatch.context() as patch,
            _held_up(self._drive, self.commits) as (reached, release),
        ):
            patch.setattr(Pool, "submit", lambda _, flight: self.submitted.append(flight))
            leading = threading.Thread(target=self._submit, args=(first,))
            leading.start()
            wait(reached)
            for each in others:
                self._submit(each)
            release.set()
            leading.join(TIME_LIMIT)
            assert not leading.is_alive()

    def in_hand(self) -> list[Claimed]:
        return [flight.claimed for flight in self._performer.flights.all()]

    def _submit(self, flight: Flight) -> None:
        self.kept.append(
            self._performer.commit(PendingOutcome(flight, Returned(), may_chain=self._may_chain))
        )


def test_what_ends_during_a_commit_goes_together_in_the_next_one(geneva: gd.Drive) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    tasks = [Task.create() for _ in range(6)]
    group = _Group(geneva)
    claimed = group.claim()

    group.commit(claimed)

    assert [rows_of(task) for task in tasks] == [[("work", "completed", "success")]] * 6
    assert group.commits == ["commit", "commit"]
    assert group.in_hand() == []


def test_the_thread_that_commits_goes_on_with_one_flight_and_submits_the_others(
    geneva: gd.Drive,
) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

        @gd.step
        def rest(self) -> None: ...

    tasks = [Task.create() for _ in range(4)]
    group = _Group(geneva, may_chain=True)

    group.commit(group.claim())

    *waited, own = group.kept
    assert waited == [None] * 3
    assert own is not None
    going_on = [flight.claimed for flight in (*group.submitted, own)]
    assert [one.workflow.id for one in going_on] == [task.id for task in tasks]
    assert {one.execution.step_name for one in going_on} == {"rest"}
    assert group.in_hand() == going_on


def test_a_lone_outcome_is_followed_on_the_same_thread(geneva: gd.Drive) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

        @gd.step
        def rest(self) -> None: ...

    task = Task.create()
    group = _Group(geneva, may_chain=True)

    group.commit(group.claim())

    [own] = group.kept
    assert own is not None
    assert (own.claimed.workflow.id, own.claimed.execution.step_name) == (task.id, "rest")
    assert group.submitted == []


def test_outcomes_are_kept_until_the_database_is_back(
    geneva: gd.Drive, make_drive: MakeDrive, caplog: pytest.LogCaptureFixture
) -> None:
    drive = make_drive()
    watch = Watch(drive)
    begun, release = threading.Event(), threading.Event()
    bodies: list[str] = []

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            bodies.append("work")
            begun.set()
            wait(release)

        @gd.step
        def rest(self) -> None:
            bodies.append("rest")

    task = Task.create()
    with drive.worker():
        wait(begun)
        with outage(drive):
            release.set()
            wait_until(
                lambda: any("Waiting for the database" in message for message in caplog.messages),
                "a commit is tried in vain",
            )
        watch.wait_for_workflows(1)

    assert rows_of(task) == [("work", "completed", "success"), ("rest", "completed", "success")]
    assert bodies == ["work", "rest"]


def test_outcomes_are_not_blamed_for_a_conflict_between_transactions(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive()
    bodies: list[str] = []

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            bodies.append("work")

    task = Task.create()
    fault = CommitFault(drive.engine, writes="completed", strike=deadlock, times=12)

    drive.worker().run_until_idle()

    assert fault.is_over
    assert bodies == ["work"]
    assert rows_of(task) == [("work", "completed", "success")]


def test_a_fault_of_the_worker_itself_costs_neither_slot_nor_execution(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(max_recoveries=1)

    class Fragile(gd.Workflow):
        def __init__(self) -> None:
            raise ValueError("no instance today")

        @gd.step
        def work(self) -> None: ...

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    fragile, task = Fragile.create(), Task.create()

    drive.worker(concurrency=1).run_until_idle()

    assert rows_of(fragile) == [("work", "failed", "recovered")] * 2
    assert fragile.reload().paused_reason == (
        "Its worker could not run it: ValueError: no instance today (for the 2nd time)"
    )
    assert task.reload().state == "finished"


def test_while_an_outcome_is_written_that_nothing_follows_its_room_is_free(
    geneva: gd.Drive,
) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    tasks = [Task.create() for _ in range(2)]
    identity = Identity()
    performer = Performer(
        geneva.environment,
        identity,
        Flights(),
        concurrency=1,
        stopping=Stopping(),
        on_free=lambda: None,
        may_begin=lambda: True,
    )
    performer.submit(claim_due(geneva.environment, identity, limit=2))
    before = performer.free
    with _held_up(geneva, []) as (reached, release):
        performer.start()
        wait(reached)
        meanwhile = performer.free
        release.set()
        assert performer.drain(TIME_LIMIT)
    performer.stop()

    assert (before, meanwhile) == (-1, 0)
    assert [rows_of(task) for task in tasks] == [[("work", "completed", "success")]] * 2


def test_what_a_fault_of_ours_keeps_from_being_recorded_is_counted(
    geneva: gd.Drive, make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive = make_drive(max_recoveries=1)

    def fail(environment: Any, endings: Sequence[EndedRun], *rest: Any) -> Any:
        if any(isinstance(one.outcome, Returned) for one in endings):
            raise RuntimeError("a fault of ours")
        return commit_endings(environment, endings, *rest)

    monkeypatch.setattr(committer, "commit_endings", fail)

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    task = Task.create()

    drive.worker().run_until_idle()

    assert rows_of(task) == [("work", "failed", "recovered")] * 2
    assert task.reload().paused_reason == (
        "Its outcome could not be recorded: RuntimeError: a fault of ours (for the 2nd time)"
    )
