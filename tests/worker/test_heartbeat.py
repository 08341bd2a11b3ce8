"""A worker says that it is alive, and what it serves."""

from __future__ import annotations

import os

import geneva_drive as gd
from geneva_drive.definition.workflow import definition_of
from geneva_drive.testing import drain
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.flights import Flights
from geneva_drive.worker.heartbeat import Heartbeat
from geneva_drive.worker.identity import Identity
from tests.worker.conftest import MakeDrive
from tests.worker.watching import rows_of, wait_until


def test_a_worker_has_a_row_that_says_what_it_serves(geneva: gd.Drive) -> None:
    class Mail(gd.Workflow):
        @gd.step
        def send(self) -> None: ...

    with geneva.worker(queues=["mail", "default"]) as worker:
        [row] = geneva.workers

    assert (row.id, row.queues, row.is_alive) == (worker.identity.id, ("default", "mail"), True)
    assert row.name.endswith(f":{os.getpid()}")
    assert row.signatures["Mail"] == definition_of(Mail).signature


def test_a_worker_that_serves_every_queue_names_none(geneva: gd.Drive) -> None:
    with geneva.worker():
        [row] = geneva.workers

    assert row.queues is None


def test_the_lease_is_renewed_while_the_worker_lives(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(heartbeat_interval=0.05)
    with drive.worker():
        [first] = drive.workers

        wait_until(
            lambda: drive.workers[0].heartbeat_at > first.heartbeat_at, "the lease is renewed"
        )
        [later] = drive.workers

    assert later.id == first.id
    assert later.is_alive


def test_a_worker_that_stops_signs_off(geneva: gd.Drive) -> None:
    with geneva.worker():
        pass

    [row] = geneva.workers
    assert row.stopped_at is not None
    assert not row.is_alive


def test_a_worker_that_others_gave_up_signs_on_anew(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(heartbeat_interval=0.05)
    store = geneva.store
    with drive.worker() as worker:
        store.write(lambda connection: store.workers.forget(connection, [worker.identity.id]))

        wait_until(lambda: geneva.workers, "the worker is back")

        assert [row.id for row in geneva.workers] == [worker.identity.id]


def test_rows_in_its_name_that_a_worker_does_not_have_are_given_back_at_the_second_heartbeat(
    geneva: gd.Drive,
) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    task = Task.create()
    identity = Identity()
    heartbeat = Heartbeat(geneva.environment, identity, Flights())
    heartbeat.register()
    claim_due(geneva.environment, identity, limit=1)

    heartbeat.beat()
    assert rows_of(task) == [("work", "in_progress", None)]

    heartbeat.beat()
    assert rows_of(task) == [("work", "failed", "recovered"), ("work", "scheduled", None)]
    assert task.step_executions[0].error_message == "The answer to its claim was lost."


def test_rows_that_a_worker_has_are_never_given_back(geneva: gd.Drive) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    task = Task.create()
    identity, flights = Identity(), Flights()
    heartbeat = Heartbeat(geneva.environment, identity, flights)
    heartbeat.register()
    [claimed] = claim_due(geneva.environment, identity, limit=1)
    flights.add([claimed])

    for _ in range(3):
        heartbeat.beat()

    assert rows_of(task) == [("work", "in_progress", None)]


def test_what_runs_inline_is_kept_alive_beside_workers(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(heartbeat_interval=0.05)

    class Report(gd.Workflow):
        @gd.step
        def write(self) -> None:
            [first] = drive.workers
            wait_until(
                lambda: drive.workers[0].heartbeat_at > first.heartbeat_at, "the lease is renewed"
            )

    workflow = Report.using(drive).create()

    drain(drive)

    assert workflow.reload().state == "finished"
