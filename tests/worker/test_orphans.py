"""A ready workflow of which nothing is active is found, and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, text, update

import geneva_drive as gd
from geneva_drive.definition import registry
from geneva_drive.engine.recovery import orphans as adopting
from geneva_drive.testing import drain, speedrun
from geneva_drive.worker.housekeeping.duty import DutyRound
from geneva_drive.worker.housekeeping.orphans import Orphans
from tests.looking import waits
from tests.worker.at_once import at_once
from tests.worker.conftest import MakeDrive
from tests.worker.faults import outage
from tests.worker.watching import rows_of

DAY = timedelta(days=1)
NOTHING_SCHEDULED = "Nothing was scheduled for it."
PORTION = "geneva_drive.worker.housekeeping.orphans._PORTION"
REFUSED = "has nothing scheduled and cannot be adopted; it is skipped: "

Handle = gd.WorkflowHandle[Any]


class Parcel(gd.Workflow[Any]):
    type_name = "test_orphans.Parcel"

    @gd.step
    def pack(self) -> None: ...

    @gd.step(wait=DAY)
    def ship(self) -> None: ...


class Letter(gd.Workflow[Any]):
    type_name = "test_orphans.Letter"

    @gd.step
    def write(self) -> None: ...


class Fragile(gd.Workflow[Any]):
    type_name = "test_orphans.Fragile"

    @gd.step
    def carry(self) -> None:
        raise ValueError("broken")


def orphaned(drive: gd.Drive, *workflows: Handle) -> list[Handle]:
    """Take away what is active of workflows, as an operator's DELETE would."""
    table = drive.store.tables.step_executions
    ids = [workflow.id for workflow in workflows]
    with drive.engine.begin() as connection:
        connection.execute(
            delete(table).where(
                table.c.workflow_id.in_(ids), table.c.state.in_(["scheduled", "in_progress"])
            )
        )
    return list(workflows)


def change(drive: gd.Drive, workflow: Handle, **values: Any) -> None:
    table = drive.store.tables.workflows
    with drive.engine.begin() as connection:
        connection.execute(update(table).where(table.c.id == workflow.id).values(**values))


def audited(workflow: Handle) -> list[tuple[str, str | None, str | None]]:
    return [(entry.command, entry.actor, entry.reason) for entry in workflow.audit_entries]


def test_an_orphan_is_scheduled_again_where_it_stands(geneva: gd.Drive) -> None:
    [parcel] = orphaned(geneva, Parcel.create())

    assert geneva.housekeep() == 1

    assert rows_of(parcel) == [("pack", "scheduled", None)]
    assert audited(parcel) == [("adopt", "housekeeping", NOTHING_SCHEDULED)]
    assert geneva.housekeep() == 0


def test_an_orphan_is_hashed_without_a_step_that_only_asked_for_another_attempt(
    geneva: gd.Drive,
) -> None:
    class Impatient(gd.Workflow[Any]):
        type_name = "test_orphans.Impatient"

        @gd.step
        def ask(self) -> None:
            self.reattempt(wait=DAY)

        @gd.step(wait=DAY)
        def answer(self) -> None: ...

    workflow = Impatient.create()
    drain()
    workflow.reload().pause()
    workflow.reload().resume_at("answer")
    [orphan] = orphaned(geneva, workflow)

    assert geneva.housekeep() == 1

    assert rows_of(orphan)[-1] == ("answer", "scheduled", None)
    assert orphan.reload().verify_ancestry() == []


def test_an_orphan_runs_to_its_end(geneva: gd.Drive) -> None:
    [letter] = orphaned(geneva, Letter.create())

    assert drain(geneva) == 1

    assert letter.reload().state == "finished"


def test_a_workflow_that_goes_on_by_itself_is_left_alone(geneva: gd.Drive) -> None:
    due, held, over = Parcel.create(), Parcel.create().pause(), Parcel.create().cancel()
    sleeping = Parcel.create(wait=DAY)

    assert geneva.housekeep() == 0

    assert [audited(one) for one in (due, sleeping)] == [[], []]
    assert [one.reload().state for one in (held, over)] == ["paused", "canceled"]


def test_a_step_that_was_to_wait_still_waits(geneva: gd.Drive) -> None:
    parcel = Parcel.create()
    drain(geneva)
    orphaned(geneva, parcel)

    assert geneva.housekeep() == 1

    assert rows_of(parcel) == [("pack", "completed", "success"), ("ship", "scheduled", None)]
    assert waits(parcel) == [DAY]
    assert drain(geneva) == 0


def test_a_step_that_failed_is_run_again_if_its_workflow_was_made_ready_by_hand(
    geneva: gd.Drive,
) -> None:
    fragile = Fragile.create()
    drain(geneva)
    change(geneva, fragile, state="ready", paused_at=None)

    assert geneva.housekeep() == 1

    assert rows_of(fragile) == [
        ("carry", "failed", "paused_by_exception"),
        ("carry", "scheduled", None),
    ]
    assert fragile.step_executions[1].attempt_number == 2


def test_a_step_that_is_done_is_not_done_twice(geneva: gd.Drive) -> None:
    parcel = Parcel.create()
    drain(geneva)
    orphaned(geneva, parcel)
    change(geneva, parcel, next_step_name="pack")

    assert geneva.housekeep() == 1

    reason = (
        "Nothing was scheduled for it. Step 'pack' is completed already: `resume` runs it again, "
        "`skip` continues with the step after it."
    )
    assert (parcel.reload().state, parcel.paused_reason) == ("paused", reason)
    assert audited(parcel) == [("pause", "housekeeping", reason)]
    assert rows_of(parcel) == [("pack", "completed", "success")]


def test_an_orphan_that_was_paused_for_a_done_step_can_be_led_past_it(geneva: gd.Drive) -> None:
    parcel = Parcel.create()
    drain(geneva)
    orphaned(geneva, parcel)
    change(geneva, parcel, next_step_name="pack")
    geneva.housekeep()

    assert speedrun(parcel.reload().skip()).state == "finished"


def test_an_orphan_without_a_next_step_is_paused_and_says_what_to_do(geneva: gd.Drive) -> None:
    [parcel] = orphaned(geneva, Parcel.create())
    change(geneva, parcel, next_step_name=None)

    assert geneva.housekeep() == 1

    reason = (
        "Nothing was scheduled for it. No next step is stored either: choose one with `resume_at` "
        "in code or `geneva resume ID --at STEP` in the shell, or cancel the workflow."
    )
    assert (parcel.reload().state, parcel.paused_reason) == ("paused", reason)
    assert audited(parcel) == [("pause", "housekeeping", reason)]
    assert parcel.why().endswith(f"UTC ({reason}).")


def test_an_orphan_at_a_step_that_is_gone_pauses_as_any_other_does(geneva: gd.Drive) -> None:
    [parcel] = orphaned(geneva, Parcel.create())
    change(geneva, parcel, next_step_name="wrap")

    drain(geneva)

    assert parcel.reload().state == "paused"
    assert rows_of(parcel) == [("wrap", "failed", "paused_by_exception")]
    assert parcel.step_executions[0].error_class == "geneva_drive.errors.StepVanished"


def test_an_orphan_whose_class_is_elsewhere_is_left_to_those_who_have_it(geneva: gd.Drive) -> None:
    with registry.isolated():

        class Elsewhere(gd.Workflow):
            @gd.step
            def work(self) -> None: ...

        [orphan] = orphaned(geneva, Elsewhere.create())

    assert geneva.housekeep() == 0

    assert (orphan.state, rows_of(orphan), audited(orphan)) == ("ready", [], [])


@pytest.mark.parametrize(
    ("requested", "state", "rows"),
    [
        pytest.param("pause", "paused", [("pack", "scheduled", None)], id="pause"),
        pytest.param(
            "cancel", "canceled", [("pack", "canceled", "canceled_by_operator")], id="cancel"
        ),
    ],
)
def test_what_was_asked_of_an_orphan_takes_effect(
    geneva: gd.Drive, requested: str, state: str, rows: list[tuple[str, str, str | None]]
) -> None:
    [parcel] = orphaned(geneva, Parcel.create())
    change(geneva, parcel, requested=requested, requested_reason="let me look")

    assert geneva.housekeep() == 1

    assert (parcel.reload().state, parcel.requested, rows_of(parcel)) == (state, None, rows)


def test_a_workflow_that_was_held_before_it_could_be_adopted_stays_held(geneva: gd.Drive) -> None:
    fragile = Fragile.create()
    drain(geneva)

    assert adopting.adopt(geneva.environment, [fragile.id]) == 0

    assert (fragile.reload().state, audited(fragile)) == ("paused", [])


def test_a_round_looks_at_one_portion_of_the_ready_workflows(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PORTION, 2)
    letters = [Letter.create() for _ in range(3)]
    parcels = [Parcel.create() for _ in range(4)]
    orphaned(geneva, letters[2], parcels[0], parcels[3])
    orphans = Orphans()

    rounds = [orphans(geneva.environment) for _ in range(4)]

    # Letters 1 and 2; letter 3 with parcels 1 and 2; parcels 3 and 4; the end of the parcels.
    assert rounds == [
        DutyRound(0, True),
        DutyRound(2, True),
        DutyRound(1, True),
        DutyRound(0, False),
    ]


def test_the_walk_begins_anew_when_it_has_come_to_the_end(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PORTION, 2)
    letters = [Letter.create() for _ in range(3)]
    orphans = Orphans()
    assert [orphans(geneva.environment) for _ in range(2)] == [
        DutyRound(0, True),
        DutyRound(0, False),
    ]
    orphaned(geneva, letters[0])

    assert orphans(geneva.environment) == DutyRound(1, True)

    assert rows_of(letters[0]) == [("write", "scheduled", None)]


def test_a_round_that_the_database_did_not_answer_is_made_up_for(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    drive, orphans = make_drive(), Orphans()
    [letter] = orphaned(geneva, Letter.create())
    _ = drive.environment
    with outage(drive), pytest.raises(gd.errors.DatabaseUnavailable):
        orphans(drive.environment)

    assert orphans(drive.environment) == DutyRound(1, False)

    assert rows_of(letter) == [("write", "scheduled", None)]


@pytest.fixture
def one_per_queue(geneva: gd.Drive) -> Iterator[None]:
    """Let the database refuse a second execution on a queue."""
    table = geneva.store.tables.step_executions.name
    drop = "DROP INDEX one_per_queue" + (f" ON {table}" if geneva.engine.name == "mysql" else "")
    with geneva.engine.begin() as connection:
        connection.execute(text(f"CREATE UNIQUE INDEX one_per_queue ON {table} (queue)"))
    yield
    with geneva.engine.begin() as connection:
        connection.execute(text(drop))


@pytest.mark.usefixtures("one_per_queue")
def test_an_orphan_that_cannot_be_adopted_is_told_once_and_stands_in_nobodys_way(
    geneva: gd.Drive, caplog: pytest.LogCaptureFixture
) -> None:
    letters = orphaned(geneva, *(Letter.create(queue=queue) for queue in ("a", "b", "c")))
    Parcel.create(queue="b")
    orphans = Orphans()

    rounds = [orphans(geneva.environment) for _ in range(2)]

    assert rounds == [DutyRound(2, False), DutyRound(0, False)]
    assert [len(letter.step_executions) for letter in letters] == [1, 0, 1]
    [told] = [message for message in caplog.messages if "adopted" in message]
    assert told.startswith(f"Workflow {letters[1].id} {REFUSED}")


def test_two_who_found_the_same_orphans_adopt_each_once(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    letters = orphaned(geneva, *(Letter.create() for _ in range(20)))
    ids = [letter.id for letter in letters]

    counts = at_once(
        [make_drive(), make_drive()], lambda drive: adopting.adopt(drive.environment, ids)
    )

    assert sorted(counts) == [0, 20]
    assert [rows_of(letter) for letter in letters] == [[("write", "scheduled", None)]] * 20
    assert [len(letter.audit_entries) for letter in letters] == [1] * 20


def test_two_whole_rounds_at_once_adopt_each_orphan_once(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    letters = orphaned(geneva, *(Letter.create() for _ in range(20)))

    counts = at_once([make_drive(), make_drive()], lambda drive: drive.housekeep())

    assert sum(counts) == 20
    assert [rows_of(letter) for letter in letters] == [[("write", "scheduled", None)]] * 20
