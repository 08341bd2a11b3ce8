from __future__ import annotations

from geneva_drive.cli.demo import promises
from geneva_drive.cli.demo.snapshot import Kill
from tests.cli_demo.snapshots import at, checked_order, effects, execution, snapshot, workflow

SENT = execution("send_tracking", started_at=at(1))
ALL_WELL = snapshot(workflow("finished", execution("charge_card"), SENT))
PARCEL = ("mug", "Your parcel is on its way")


def test_finished_workflows_with_each_step_done_once_have_no_fault() -> None:
    assert promises.step_faults(ALL_WELL.workflows) == []


def test_a_step_that_is_done_twice_is_a_fault() -> None:
    twice = workflow(
        "finished",
        execution("charge_card"),
        execution("charge_card", attempt_number=2),
        execution("send_tracking"),
    )

    assert promises.step_faults([twice]) == [
        "Checkout mug: charge_card is recorded as done 2 times."
    ]


def test_a_workflow_that_has_not_ended_is_a_fault_with_its_open_steps() -> None:
    open_one = workflow("ready", execution("charge_card"), execution("send_tracking", "scheduled"))

    assert promises.step_faults([open_one]) == [
        "Checkout mug is ready, not finished.",
        "Checkout mug: send_tracking is recorded as done 0 times.",
        "Checkout mug: send_tracking is still scheduled.",
    ]


def test_a_step_of_the_killed_worker_that_nobody_took_back_is_a_fault() -> None:
    seen = snapshot(
        workflow(
            "ready",
            execution("charge_card", "failed", id=7, outcome="recovered"),
            execution("charge_card", "in_progress", id=8, attempt_number=2),
        )
    )

    assert promises.kill_faults(seen, Kill(pid=99, held_ids=frozenset({7}))) == []
    assert promises.kill_faults(seen, Kill(pid=99, held_ids=frozenset({7, 8}))) == [
        "Execution 8 of the killed worker 99 was not recovered."
    ]


def test_a_kill_that_interrupted_nothing_is_a_fault() -> None:
    assert promises.kill_faults(ALL_WELL, Kill(pid=99, held_ids=frozenset())) == [
        "The killed worker 99 held no step."
    ]


def test_one_charge_and_one_email_for_each_step_have_no_fault() -> None:
    assert promises.effect_faults(ALL_WELL, effects(charges={"mug": 1}, emails={PARCEL: 1})) == []


def test_a_second_charge_and_a_second_email_are_faults() -> None:
    assert promises.effect_faults(ALL_WELL, effects(charges={"mug": 2}, emails={PARCEL: 2})) == [
        "Checkout mug was charged 2 times.",
        "mug was sent 'Your parcel is on its way' 2 times.",
        "2 e-mails were sent, and 1 steps that send one are completed.",
    ]


def test_a_missing_charge_and_a_missing_email_are_faults() -> None:
    assert promises.effect_faults(ALL_WELL, effects(charges={}, emails={})) == [
        "Checkout mug was charged 0 times.",
        "0 e-mails were sent, and 1 steps that send one are completed.",
    ]


def test_a_row_for_every_article_has_no_fault() -> None:
    imported = effects(row_count=100_000, article_count=100_000, imported_row_count=100_000)

    assert promises.import_faults(imported) == []


def test_rows_that_were_not_imported_or_more_than_once_are_faults() -> None:
    # As many articles as rows: the sum alone would not have told.
    imported = effects(row_count=100_000, article_count=100_000, imported_row_count=98_800)

    assert promises.import_faults(imported) == [
        "1,200 rows of the catalogue were not imported.",
        "1,200 rows were imported more than once.",
    ]


def test_a_balance_that_is_not_the_sum_of_its_mutations_is_a_fault() -> None:
    assert promises.booking_faults(effects(expected_cents=1200, balance_cents=1200)) == []
    assert promises.booking_faults(effects(expected_cents=1200, balance_cents=1300)) == [
        "1,300 cents were booked, and not 1,200."
    ]


def test_nodes_that_began_after_what_they_depend_on_have_no_fault() -> None:
    in_order = checked_order(
        "finished",
        execution("validate", finished_at=at(1)),
        execution("check_stock", "skipped", started_at=None, finished_at=at(2)),
        execution("check_fraud", "failed", started_at=at(0.5), outcome="recovered"),
        execution("check_fraud", attempt_number=2, started_at=at(1), finished_at=at(3)),
        execution("charge", started_at=at(3), finished_at=at(4)),
    )

    assert promises.order_faults(snapshot(in_order), effects()) == []


def test_a_node_that_began_before_what_it_depends_on_was_done_is_a_fault() -> None:
    too_early = checked_order(
        "finished",
        execution("validate", finished_at=at(1)),
        execution("check_stock", started_at=at(0.9), finished_at=at(2)),
        execution("charge", started_at=at(2), finished_at=at(4)),
    )

    assert promises.order_faults(snapshot(too_early), effects()) == [
        "CheckedOrder wine: check_stock began before validate was done.",
        "CheckedOrder wine: charge began before check_fraud was done.",
    ]


def test_an_ancestry_hash_that_proves_nothing_is_a_fault() -> None:
    assert promises.order_faults(ALL_WELL, effects(unproven=("close_ledger, notify",))) == [
        "The ancestry hash of close_ledger, notify does not match."
    ]
