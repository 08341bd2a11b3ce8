from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.cli.demo.snapshot import Kill, Snapshot, WorkflowSnapshot
from geneva_drive.testing import speedrun
from tests.cli_demo.conftest import Shop
from tests.cli_demo.snapshots import (
    at,
    checked_order,
    entry,
    execution,
    ledger,
    loop,
    mutations,
    refund,
    snapshot,
    workflow,
)

SENT = execution("send_tracking", started_at=at(1))
ALL_WELL = snapshot(workflow("finished", execution("charge_card"), SENT))


def test_each_step_done_once_is_as_promised(shop: Shop) -> None:
    lost = execution("charge_card", "failed", id=7, outcome="recovered")
    done = execution("charge_card", id=8, attempt_number=2)
    seen = snapshot(workflow("finished", lost, done, SENT))

    promise = _recorded_once(shop, seen, _kill(7))

    assert promise.faults == []
    assert promise.text == (
        "1 workflow, each step done once and in order, 1 recovered after kill -9"
    )


def test_a_step_that_is_done_twice_is_a_fault(shop: Shop) -> None:
    twice = workflow(
        "finished", execution("charge_card"), execution("charge_card", attempt_number=2), SENT
    )

    assert _recorded_once(shop, snapshot(twice)).faults == [
        "Checkout mug: charge_card is recorded as done 2 times."
    ]


def test_a_workflow_that_has_not_ended_is_a_fault_with_its_open_steps(shop: Shop) -> None:
    open_one = workflow("ready", execution("charge_card"), execution("send_tracking", "scheduled"))

    assert _recorded_once(shop, snapshot(open_one)).faults == [
        "Checkout mug is ready, not finished.",
        "Checkout mug: send_tracking is recorded as done 0 times.",
        "Checkout mug: send_tracking is still scheduled.",
    ]


def test_a_step_of_a_killed_worker_that_was_not_recovered_is_a_fault(shop: Shop) -> None:
    assert _recorded_once(shop, ALL_WELL, _kill(7, 8)).faults == [
        "Execution 7 was not recovered.",
        "Execution 8 was not recovered.",
    ]


def test_a_kill_that_interrupted_nothing_is_a_fault(shop: Shop) -> None:
    assert _recorded_once(shop, ALL_WELL, _kill()).faults == ["Worker A held no step."]


def test_an_article_for_every_row_is_as_promised(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_promises(shop), "ROWS", 3)
    shop.add(*(shop.tables.Article(row_number=number) for number in range(3)))
    lost = loop("failed", 1, 3, outcome="recovered")
    imported = workflow("finished", lost, type="Import", step_names=("import_rows",))

    promise = _checked(shop, "imported_once", snapshot(imported))

    assert promise.faults == []
    assert promise.text == "3 rows, 1 workers killed on the way, each row imported exactly once"


def test_rows_that_were_imported_never_or_more_than_once_are_faults(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As many articles as rows: the totals alone would not show it.
    monkeypatch.setattr(_promises(shop), "ROWS", 3)
    shop.add(*(shop.tables.Article(row_number=0) for _ in range(3)))

    assert _checked(shop, "imported_once", ALL_WELL).faults == [
        "2 rows of the catalogue were not imported.",
        "2 rows were imported more than once.",
    ]


def test_a_sum_of_all_nodes_is_as_promised(shop: Shop) -> None:
    lost = mutations(1, 2, "failed", outcome="recovered")
    again = mutations(1, 2, attempt_number=2)
    closed = ledger("finished", *lost, *again, *mutations(3, 20), _sum("41791750"))

    promise = _promises(shop).booked_once(snapshot(closed))

    assert promise.faults == []
    assert promise.text == (
        "20 nodes of a fan-out, 2 recovered, each done and counted exactly once"
    )


def test_a_node_that_is_done_twice_and_a_wrong_sum_are_faults(shop: Shop) -> None:
    nodes = [*mutations(1, 20), *mutations(4, 4), _sum("1300")]

    assert _promises(shop).booked_once(snapshot(ledger("finished", *nodes))).faults == [
        "close_ledger: mutation_4 is recorded as done 2 times.",
        "1300 cents were booked, not 41791750.",
    ]


def test_nodes_that_began_after_what_they_depend_on_are_as_promised(shop: Shop) -> None:
    in_order = checked_order(
        "finished",
        execution("validate", finished_at=at(1)),
        execution("check_stock", "skipped", started_at=None, finished_at=at(2)),
        execution("check_fraud", "failed", started_at=at(0.5), outcome="recovered"),
        execution("check_fraud", attempt_number=2, started_at=at(1), finished_at=at(3)),
        execution("charge", started_at=at(3), finished_at=at(4)),
    )

    assert _recorded_once(shop, snapshot(in_order)).faults == []


def test_a_node_that_began_before_what_it_depends_on_was_done_is_a_fault(shop: Shop) -> None:
    too_early = checked_order(
        "finished",
        execution("validate", finished_at=at(1)),
        execution("check_stock", started_at=at(0.9), finished_at=at(2)),
        execution("charge", started_at=at(2), finished_at=at(4)),
    )

    assert _recorded_once(shop, snapshot(too_early)).faults == [
        "CheckedOrder wine: check_fraud is recorded as done 0 times.",
        "CheckedOrder wine: check_stock began before validate was done.",
        "CheckedOrder wine: charge began before check_fraud was done.",
    ]


def test_an_ancestry_hash_that_does_not_match_is_a_fault(shop: Shop) -> None:
    shop.add(shop.tables.PaymentProvider(id=1, is_busy=False))
    speedrun(shop.order("mug"))
    executions = shop.drive.store.tables.step_executions
    with shop.drive.engine.begin() as connection:
        connection.execute(
            update(executions)
            .where(executions.c.step_name == "send_tracking")
            .values(ancestry_hash="0" * 64)
        )

    assert _recorded_once(shop, ALL_WELL).faults == [
        "The ancestry hash of send_tracking does not match."
    ]


def test_one_charge_and_one_email_for_each_step_are_as_promised(shop: Shop) -> None:
    _add_order(shop, charges=1, emails=1)

    promise = _checked(shop, "charged_once", ALL_WELL)

    assert promise.faults == []
    assert promise.text == "1 orders charged, 1 e-mails sent, each exactly once"


def test_a_second_charge_and_a_second_email_are_faults(shop: Shop) -> None:
    _add_order(shop, charges=2, emails=2)

    assert _checked(shop, "charged_once", ALL_WELL).faults == [
        "mug was charged 2 times.",
        "mug was sent 'It is on its way' 2 times.",
        "1 e-mails were due, and 2 were sent.",
    ]


def test_a_missing_charge_and_a_missing_email_are_faults(shop: Shop) -> None:
    _add_order(shop, charges=0, emails=0)

    assert _checked(shop, "charged_once", ALL_WELL).faults == [
        "mug was charged 0 times.",
        "1 e-mails were due, and 0 were sent.",
    ]


def test_an_approved_refund_that_is_paid_back_once_is_as_promised(shop: Shop) -> None:
    shop.add(shop.tables.Order(id=1, name="mug", cents=100), shop.tables.Repayment(order_id=1))
    escalated = entry("escalate", None, "to role 'director'", at(1))

    promise = _checked(
        shop, "decided_once", snapshot(_decided("approved", audit_entries=(escalated,)))
    )

    assert promise.faults == []
    assert promise.text == (
        "1 refunds decided, 1 escalated, each decision took effect exactly once"
    )


@pytest.mark.parametrize(
    ("decision", "count", "fault"),
    [
        ("approved", 0, "The refund of mug was approved 1 times, and paid back 0 times."),
        ("approved", 2, "The refund of mug was approved 1 times, and paid back 2 times."),
        ("rejected", 1, "The refund of mug was approved 0 times, and paid back 1 times."),
    ],
)
def test_a_refund_that_does_not_follow_its_decision_is_a_fault(
    shop: Shop, decision: str, count: int, fault: str
) -> None:
    shop.add(shop.tables.Order(id=1, name="mug", cents=100))
    shop.add(*(shop.tables.Repayment(order_id=1) for _ in range(count)))

    assert _checked(shop, "decided_once", snapshot(_decided(decision))).faults == [fault]


def _decided(decision: str, **given: Any) -> WorkflowSnapshot:
    return refund("finished", execution("approval", outcome=decision), **given)


def _promises(shop: Shop) -> Any:
    return shop.modules["promises"]


def _checked(shop: Shop, name: str, seen: Snapshot) -> Any:
    with Session(shop.drive.engine) as session:
        return getattr(_promises(shop), name)(seen, session)


def _recorded_once(shop: Shop, seen: Snapshot, *kills: Kill) -> Any:
    return _promises(shop).recorded_once(seen, kills, shop.drive)


def _sum(result: str) -> gd.StepExecution:
    return execution("aggregate", started_at=at(1), result=result)


def _kill(*held_ids: int) -> Kill:
    return Kill(label="A", held_ids=frozenset(held_ids))


def _add_order(shop: Shop, *, charges: int, emails: int) -> None:
    tables = shop.tables
    shop.add(tables.Order(id=1, name="mug", cents=100))
    shop.add(*(tables.Charge(order_id=1, cents=100) for _ in range(charges)))
    subject = "It is on its way"
    shop.add(*(tables.Email(to="mug", subject=subject) for _ in range(emails)))
