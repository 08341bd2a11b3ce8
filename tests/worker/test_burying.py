"""A worker that is heard again is not buried."""

from __future__ import annotations

import geneva_drive as gd
from geneva_drive.testing import expire_leases
from geneva_drive.worker.flights import Flights
from geneva_drive.worker.heartbeat import Heartbeat
from geneva_drive.worker.identity import Identity


def test_only_who_is_still_silent_is_buried(geneva: gd.Drive) -> None:
    heard, silent = Identity(), Identity()
    hearts = [Heartbeat(geneva.environment, each, Flights()) for each in (heard, silent)]
    for heart in hearts:
        heart.register()
    expire_leases(geneva)
    seen = geneva.workers
    hearts[0].beat()

    store = geneva.store
    last_heard = max(worker.heartbeat_at for worker in seen)
    store.write(lambda c: store.workers.bury(c, [heard.id, silent.id], last_heard))

    assert [worker.id for worker in geneva.workers] == [heard.id]
