"""Workers are heard by the database's own clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, select, type_coerce

import geneva_drive as gd
from geneva_drive.storage.schema.column_types import Moment
from geneva_drive.testing import expire_leases, time_travel


def write(drive: gd.Drive, work: Callable[[Connection], Any]) -> Any:
    return drive.store.write(work)


def register(drive: gd.Drive, worker_id: str, lease: timedelta | None = None) -> None:
    write(
        drive,
        lambda connection: drive.store.workers.register(
            connection,
            worker_id,
            name=f"{worker_id} here",
            queues=["a"],
            signatures={"T": "s"},
            lease=lease,
        ),
    )


def database_now(drive: gd.Drive) -> datetime:
    now = type_coerce(drive.store.database.dialect.now(), Moment)
    with drive.store.reading() as connection:
        return connection.execute(select(now)).scalar_one()


def test_a_registered_worker_is_alive_and_known_by_what_it_serves(geneva: gd.Drive) -> None:
    register(geneva, "w1")

    [worker] = geneva.workers

    assert (worker.id, worker.name, worker.queues, worker.signatures) == (
        "w1", "w1 here", ("a",), {"T": "s"},
    )  # fmt: skip
    assert worker.is_alive
    assert worker.stopped_at is None


def test_a_worker_is_judged_by_its_own_lease(geneva: gd.Drive) -> None:
    register(geneva, "patient", lease=timedelta(hours=1))
    register(geneva, "hasty", lease=timedelta(0))
    register(geneva, "older")  # of a version that stored none

    def alive_for(judge: timedelta) -> list[str]:
        workers = geneva.store.read(lambda connection: geneva.store.workers.all(connection, judge))
        return sorted(worker.id for worker in workers if worker.is_alive)

    assert alive_for(timedelta(0)) == ["patient"]
    assert alive_for(timedelta(hours=1)) == ["older", "patient"]


def test_a_heartbeat_is_stamped_by_the_database_whatever_the_drives_clock_says(
    geneva: gd.Drive,
) -> None:
    with time_travel(timedelta(days=-9), geneva):
        before = database_now(geneva)
        register(geneva, "w1")
        beaten = write(geneva, lambda connection: geneva.store.workers.beat(connection, "w1"))
        [worker] = geneva.workers
        after = database_now(geneva)

    assert beaten is True
    assert before <= worker.started_at <= worker.heartbeat_at <= after


def test_a_silent_worker_is_not_alive_until_it_beats_again(geneva: gd.Drive) -> None:
    register(geneva, "w1")
    expire_leases(geneva)
    [silent] = geneva.workers

    write(geneva, lambda connection: geneva.store.workers.beat(connection, "w1"))

    [worker] = geneva.workers
    assert (silent.is_alive, worker.is_alive) == (False, True)


def test_a_stopped_worker_is_not_alive_and_cannot_beat(geneva: gd.Drive) -> None:
    register(geneva, "w1")
    write(geneva, lambda connection: geneva.store.workers.stop(connection, "w1"))

    beaten = write(geneva, lambda connection: geneva.store.workers.beat(connection, "w1"))

    [worker] = geneva.workers
    assert beaten is False
    assert (worker.is_alive, worker.heard_within_lease) == (False, True)


def test_a_worker_that_others_have_forgotten_cannot_beat(geneva: gd.Drive) -> None:
    register(geneva, "w1")
    register(geneva, "w2")
    write(geneva, lambda connection: geneva.store.workers.forget(connection, ["w1"]))

    beaten = write(geneva, lambda connection: geneva.store.workers.beat(connection, "w1"))

    assert beaten is False
    assert [worker.id for worker in geneva.workers] == ["w2"]
