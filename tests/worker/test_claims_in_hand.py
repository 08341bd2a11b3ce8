"""A claim that is still being made is not taken for one whose answer was lost."""

from __future__ import annotations

import geneva_drive as gd
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.flights import Flights
from geneva_drive.worker.heartbeat import Heartbeat
from geneva_drive.worker.identity import Identity
from tests.worker.watching import rows_of


def test_a_row_whose_token_is_in_hand_is_kept_however_often_the_heart_beats(
    geneva: gd.Drive,
) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    task = Task.create()
    identity = Identity()
    heartbeat = Heartbeat(geneva.environment, identity, Flights())
    heartbeat.register()

    with identity.tokens.expecting() as token:
        claim_due(geneva.environment, identity, 1, token)
        for _ in range(3):
            heartbeat.beat()
        rows_in_hand = rows_of(task)
    heartbeat.beat()
    heartbeat.beat()

    assert rows_in_hand == [("work", "in_progress", None)]
    assert rows_of(task) == [("work", "failed", "recovered"), ("work", "scheduled", None)]
