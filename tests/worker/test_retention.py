"""With the setting `retention`, every worker deletes what ended longer ago."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Column, ForeignKey, MetaData, Table, delete, insert, select

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.worker.housekeeping.duties import duties
from geneva_drive.worker.housekeeping.duty import Duty, DutyRound
from geneva_drive.worker.housekeeping.retention import Retention
from tests.worker.at_once import at_once
from tests.worker.conftest import MakeDrive
from tests.worker.faults import outage

DAY = timedelta(days=1)
A_BLINK = timedelta(microseconds=1)  # the shortest there is
BATCH = "geneva_drive.worker.housekeeping.retention._BATCH"
MAX_REFUSALS = "geneva_drive.worker.housekeeping.retention._MAX_REFUSALS"
MAX_PER_ROUND = "geneva_drive.worker.housekeeping.refused_rows.MAX_PER_ROUND"
REFUSED = "ended long ago and cannot be deleted (does a row of yours refer to it?); it is skipped: "


class Errand(gd.Workflow[Any]):
    type_name = "test_retention.Errand"

    @gd.step
    def run(self) -> None: ...


def ended(count: int) -> list[gd.WorkflowHandle[Any]]:
    return [Errand.create().cancel() for _ in range(count)]


def left(drive: gd.Drive) -> list[Any]:
    table = drive.store.tables.workflows
    with drive.store.reading() as connection:
        return list(connection.scalars(select(table.c.id).order_by(table.c.id)))


def retention_of(drive: gd.Drive) -> Duty:
    [duty] = [duty for duty in duties(drive.settings) if duty.name == "retention"]
    return duty


def delete_all(retention: Retention, drive: gd.Drive) -> DutyRound:
    return retention.delete_before(drive.environment, drive.clock.now())


def test_what_ended_longer_ago_than_the_retention_is_deleted(
    geneva: gd.Drive, make_drive: MakeDrive, geneva_clock: ShiftedClock
) -> None:
    drive = make_drive(retention=2 * DAY, clock=geneva_clock)
    ended(2)
    geneva_clock.advance(DAY)
    [young], ready = ended(1), Errand.create()
    geneva_clock.advance(DAY)

    assert retention_of(drive).do(drive.environment) == 2

    assert left(geneva) == [young.id, ready.id]


def test_housekeeping_deletes_it_as_well(geneva: gd.Drive, make_drive: MakeDrive) -> None:
    ended(2)

    assert make_drive(retention=A_BLINK).housekeep() == 2

    assert left(geneva) == []


def test_without_the_setting_there_is_no_such_duty(geneva: gd.Drive) -> None:
    [workflow] = ended(1)

    assert geneva.housekeep() == 0

    names = [duty.name for duty in duties(geneva.settings)]
    assert "retention" not in names
    assert left(geneva) == [workflow.id]


def test_one_go_deletes_no_more_than_fifty_batches(
    geneva: gd.Drive, make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BATCH, 1)
    drive = make_drive(retention=A_BLINK)
    duty = retention_of(drive)
    ended(53)

    assert [duty.do(drive.environment) for _ in range(3)] == [50, 3, 0]


def test_finished_and_canceled_workflows_share_a_batch(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BATCH, 3)
    ended(2)
    for _ in range(2):
        Errand.create().skip()
    retention = Retention()

    assert [delete_all(retention, geneva) for _ in range(2)] == [
        DutyRound(3, True),
        DutyRound(1, False),
    ]


def test_pruning_tells_of_its_progress(geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BATCH, 2)
    ended(5)
    told: list[int] = []

    assert geneva.prune(older_than=0, progress=told.append) == 5

    assert told == [2, 2, 1]


def test_a_round_that_the_database_did_not_answer_is_made_up_for(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive = make_drive(retention=A_BLINK)
    duty = retention_of(drive)
    ended(3)
    _ = drive.environment
    with outage(drive), pytest.raises(gd.errors.DatabaseUnavailable):
        duty.do(drive.environment)

    assert duty.do(drive.environment) == 3


def test_two_at_once_delete_each_workflow_once(
    geneva: gd.Drive, make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BATCH, 5)
    ended(50)
    kept = Errand.create()

    counts = at_once([make_drive(), make_drive()], lambda drive: drive.prune(older_than=0))

    assert sum(counts) == 50
    assert left(geneva) == [kept.id]


@pytest.fixture
def invoices(geneva: gd.Drive) -> Iterator[Table]:
    """A table of the user's own, whose rows refer to workflows."""
    workflows = geneva.store.tables.workflows
    metadata = MetaData()
    workflows.to_metadata(metadata)
    target = ForeignKey(f"{workflows.name}.id")
    table = Table("invoices", metadata, Column("workflow_id", workflows.c.id.type, target))
    table.create(geneva.engine)
    yield table
    table.drop(geneva.engine)


def refer(drive: gd.Drive, invoices: Table, *workflows: gd.WorkflowHandle[Any]) -> None:
    with drive.engine.begin() as connection:
        connection.execute(insert(invoices), [{"workflow_id": one.id} for one in workflows])


def test_a_workflow_that_cannot_be_deleted_is_told_once_and_stands_in_nobodys_way(
    geneva: gd.Drive,
    invoices: Table,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(BATCH, 3)
    workflows = ended(7)
    refer(geneva, invoices, workflows[0], workflows[4])
    retention = Retention()

    rounds = [delete_all(retention, geneva) for _ in range(4)]

    # The second and third were with the first; the rest goes behind those that are passed over.
    assert rounds == [
        DutyRound(2, True),
        DutyRound(2, True),
        DutyRound(1, False),
        DutyRound(0, False),
    ]
    assert left(geneva) == [workflows[0].id, workflows[4].id]
    told = [message.partition(REFUSED)[0] for message in caplog.messages if REFUSED in message]
    assert told == [f"Workflow {workflows[0].id} ", f"Workflow {workflows[4].id} "]


def test_a_round_tries_no_more_than_so_many_in_vain(
    geneva: gd.Drive, invoices: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MAX_PER_ROUND, 2)
    workflows = ended(4)
    refer(geneva, invoices, *workflows[:3])
    retention = Retention()

    rounds = [delete_all(retention, geneva) for _ in range(3)]

    assert rounds == [DutyRound(0, True), DutyRound(1, True), DutyRound(0, False)]
    assert left(geneva) == [one.id for one in workflows[:3]]


def test_retention_rests_when_too_much_cannot_be_deleted(
    geneva: gd.Drive,
    invoices: Table,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(MAX_PER_ROUND, 2)
    monkeypatch.setattr(MAX_REFUSALS, 2)
    refer(geneva, invoices, *ended(3))
    retention = Retention()
    delete_all(retention, geneva)
    with geneva.engine.begin() as connection:
        connection.execute(delete(invoices))

    assert delete_all(retention, geneva) == DutyRound(0, False)

    assert len(left(geneva)) == 3
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "2 ended workflows cannot be deleted; this worker deletes none until it is restarted. Add "
        "ON DELETE CASCADE or SET NULL to the foreign keys of your tables."
    ]
