"""After an outage nobody is called dead for having been out of reach."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

import geneva_drive as gd
from geneva_drive.worker import heartbeat as heartbeat_module
from geneva_drive.worker.flights import Flights
from geneva_drive.worker.heartbeat import Heartbeat
from geneva_drive.worker.identity import Identity
from tests.worker.conftest import MakeDrive
from tests.worker.faults import outage
from tests.worker.watching import TIME_LIMIT, rows_of, wait, wait_until


class _Seconds:
    """The machine's uptime, moved by the test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> _Seconds:
    moved = _Seconds()
    monkeypatch.setattr(heartbeat_module, "time", SimpleNamespace(monotonic=moved.monotonic))
    return moved


def _beat_through(heartbeat: Heartbeat, seconds: _Seconds, count: int) -> list[bool]:
    judged = []
    for _ in range(count):
        seconds.now += 10
        heartbeat.beat()
        judged.append(heartbeat.may_judge())
    return judged


def test_a_newcomer_judges_nobody_for_one_heartbeat(geneva: gd.Drive, seconds: _Seconds) -> None:
    heartbeat = Heartbeat(geneva.environment, Identity(), Flights())
    heartbeat.register()
    assert not heartbeat.may_judge()

    seconds.now += 9.9
    assert not heartbeat.may_judge()

    seconds.now += 0.2
    assert heartbeat.may_judge()


def test_whoever_missed_its_own_heartbeat_judges_nobody_for_one_lease(
    geneva: gd.Drive, seconds: _Seconds
) -> None:
    heartbeat = Heartbeat(geneva.environment, Identity(), Flights())
    heartbeat.register()
    assert _beat_through(heartbeat, seconds, 3) == [True, True, True]

    seconds.now += 61
    assert not heartbeat.may_judge(), "its silence counts before its first heartbeat as well"
    heartbeat.beat()
    assert not heartbeat.may_judge()

    assert _beat_through(heartbeat, seconds, 6) == [False, False, False, False, False, True]


def test_a_worker_knows_that_it_was_silent_for_longer_than_its_lease(
    geneva: gd.Drive, seconds: _Seconds
) -> None:
    heartbeat = Heartbeat(geneva.environment, Identity(), Flights())
    heartbeat.register()
    known = []
    for later in (59.9, 0.2):
        seconds.now += later
        known.append(heartbeat.is_within_lease())
    heartbeat.beat()

    assert [*known, heartbeat.is_within_lease()] == [True, False, True]


def test_a_silence_shorter_than_the_lease_counts_too(geneva: gd.Drive, seconds: _Seconds) -> None:
    heartbeat = Heartbeat(geneva.environment, Identity(), Flights())
    heartbeat.register()
    _beat_through(heartbeat, seconds, 1)

    # Another's last heartbeat may be ten seconds older than ours: it would be past its lease.
    seconds.now += 55

    assert not heartbeat.may_judge()


def test_a_worker_that_was_given_up_leaves_the_others_a_lease_as_well(
    geneva: gd.Drive, seconds: _Seconds
) -> None:
    store, identity = geneva.store, Identity()
    heartbeat = Heartbeat(geneva.environment, identity, Flights())
    heartbeat.register()
    store.write(lambda connection: store.workers.forget(connection, [identity.id]))

    seconds.now += 61
    heartbeat.beat()

    assert [row.id for row in geneva.workers] == [identity.id]
    assert _beat_through(heartbeat, seconds, 6) == [False, False, False, False, False, True]


@pytest.mark.scenario  # its leases are short, and the machine must not be busy with all others
def test_workers_that_were_all_out_of_reach_keep_their_work(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drives = [
        make_drive(lease=3, heartbeat_interval=0.3, poll_interval=0.1, drain_timeout=TIME_LIMIT)
        for _ in range(3)
    ]
    all_begun, release = threading.Barrier(4, timeout=TIME_LIMIT), threading.Event()
    bodies: list[int] = []

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None:
            bodies.append(self.attempt)
            all_begun.wait()
            wait(release)

    tasks = [Task.create() for _ in range(3)]
    workers = [drive.worker(concurrency=1) for drive in drives]
    for worker in workers:
        worker.start()
    all_begun.wait()

    def heard() -> list[bool]:
        return [row.heard_within_lease for row in drives_view.workers]

    drives_view = make_drive(lease=3, heartbeat_interval=0.3)
    with outage(*drives):
        wait_until(lambda: not any(heard()), "everybody is past the lease")
    wait_until(lambda: heard() == [True] * 3, "everybody is heard again")
    release.set()
    for worker in workers:
        worker.stop()

    assert bodies == [1, 1, 1]
    assert [rows_of(task) for task in tasks] == [[("work", "completed", "success")]] * 3
