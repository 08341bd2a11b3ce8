from __future__ import annotations

from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from geneva_drive.cli.demo.snapshot import Kill, Snapshot
from geneva_drive.testing import speedrun
from tests.cli_demo.conftest import Shop
from tests.cli_demo.snapshots import (
    at,
    checked_order,
    execution,
    ledger,
    loop,
    mutations,
    snapshot,
    workflow,
)

SENT = execution("send_tracking", started_at=at(1))
ALL_WELL = snapshot(workflow("finished", execution("charge_card"), SENT))


def test_each_step_done_once_is_as_promised(shop: Shop) -> None:
    lost = execution("charge_card", "failed", id=7, outcome="recovered")
    done = execution("charge_card", id=8, attempt_number=2)
    seen = snapshot(workflow("finished", lost, done, SENT))

    promise = _promises(shop).recorded_once(seen, [_kill(7)])

    assert promise.faults == []
    assert promise.text == (
        "1 workflows finished, 3 step executions recorded, 1 recovered after kill -9, "
        "every completed step recorded exactly once"
    )


def test_a_step_that_is_done_twice_is_a_fault(shop: Shop) -> None:
    twice = workflow(
        "finished", execution("charge_card"), execution("charge_card", attempt_number=2), SENT
    )

    assert _promises(shop).recorded_once(snapshot(twice), []).faults == [
        "Checkout mug: charge_card is recorded as done 2 times."
    ]


def test_a_workflow_that_has_not_ended_is_a_fault_with_its_open_steps(shop: Shop) -> None:
    open_one = workflow("ready", execution("charge_card"), execution("send_tracking", "scheduled"))

    assert _promises(shop).recorded_once(snapshot(open_one), []).faults == [
        "Checkout mug is ready, not finished.",
        "Checkout mug: send_tracking is recorded as done 0 times.",
        "Checkout mug: send_tracking is still scheduled.",
    ]


def test_a_step_of_a_killed_worker_that_was_not_recovered_is_a_fault(shop: Shop) -> None:
    assert _promises(shop).recorded_once(ALL_WELL, [_kill(7, 8)]).faults == [
        "Execution 7 was not recovered.",
        "Execution 8 was not recovered.",
    ]


def test_a_kill_that_interrupted_nothing_is_a_fault(shop: Shop) -> None:
    assert _promises(shop).recorded_once(ALL_WELL, [_kill()]).faults == ["Worker A held no step."]


def test_an_article_for_every_row_is_as_promised(shop: Shop) -> None:
    articles = [shop.tables.Article(row_number=number) for number in range(3)]
    shop.add(shop.tables.Catalogue(name="frames", row_count=3), *articles)
    lost = loop("failed", 1, 3, outcome="recovered")
    imported = workflow("finished", lost, type="Import", step_names=("import_rows",))

    promise = _checked(shop, "imported_once", snapshot(imported))

    assert promise.faults == []
    assert promise.text == (
        "3 catalogue rows, 3 articles made of them, 1 workers killed on the way, "
        "each row imported exactly once"
    )


def test_rows_that_were_imported_never_or_more_than_once_are_faults(shop: Shop) -> None:
    # As many articles as rows: the totals alone would not show it.
    articles = [shop.tables.Article(row_number=number) for number in (0, 0, 0)]
    shop.add(shop.tables.Catalogue(name="frames", row_count=3), *articles)

    assert _checked(shop, "imported_once", ALL_WELL).faults == [
        "2 rows of the catalogue were not imported.",
        "2 rows were imported more than once.",
    ]


def test_a_balance_that_is_the_sum_of_all_nodes_is_as_promised(shop: Shop) -> None:
    shop.add(shop.tables.Ledger(name="April", expected_cents=1200, balance_cents=1200))
    lost = mutations(1, 2, "failed", outcome="recovered")
    again = mutations(1, 2, attempt_number=2)
    closed = ledger("finished", *lost, *again, *mutations(3, 20), execution("aggregate"))

    promise = _checked(shop, "booked_once", snapshot(closed))

    assert promise.faults == []
    assert promise.text == (
        "20 nodes of a fan-out done, 2 recovered after a kill half way, "
        "each done exactly once, and counted once"
    )


def test_a_node_that_is_done_twice_and_a_wrong_balance_are_faults(shop: Shop) -> None:
    shop.add(shop.tables.Ledger(name="April", expected_cents=1200, balance_cents=1300))
    nodes = [*mutations(1, 20), *mutations(4, 4), execution("aggregate")]

    assert _checked(shop, "booked_once", snapshot(ledger("finished", *nodes))).faults == [
        "close_ledger April: mutation_4 is recorded as done 2 times.",
        "1,300 cents were booked, not 1,200.",
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

    promise = _promises(shop).in_order(snapshot(in_order), shop.drive)

    assert promise.faults == []
    assert promise.text == (
        "4 nodes in 1 graphs, 4 done, each after the nodes that it depends on, "
        "verify_ancestry() empty"
    )


def test_a_node_that_began_before_what_it_depends_on_was_done_is_a_fault(shop: Shop) -> None:
    too_early = checked_order(
        "finished",
        execution("validate", finished_at=at(1)),
        execution("check_stock", started_at=at(0.9), finished_at=at(2)),
        execution("charge", started_at=at(2), finished_at=at(4)),
    )

    assert _promises(shop).in_order(snapshot(too_early), shop.drive).faults == [
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

    assert _promises(shop).in_order(ALL_WELL, shop.drive).faults == [
        "The ancestry hash of send_tracking does not match."
    ]


def test_one_charge_and_one_email_for_each_step_are_as_promised(shop: Shop) -> None:
    _add_order(shop, charges=1, emails=1)

    promise = _checked(shop, "charged_once", ALL_WELL)

    assert promise.faults == []
    assert promise.text == "1 orders, 1 charges, 1 e-mails due, 1 sent, each exactly once"


def test_a_second_charge_and_a_second_email_are_faults(shop: Shop) -> None:
    _add_order(shop, charges=2, emails=2)

    assert _checked(shop, "charged_once", ALL_WELL).faults == [
        "mug was charged 2 times.",
        "mug was sent 'Your parcel is on its way' 2 times.",
        "1 e-mails were due, and 2 were sent.",
    ]


def test_a_missing_charge_and_a_missing_email_are_faults(shop: Shop) -> None:
    _add_order(shop, charges=0, emails=0)

    assert _checked(shop, "charged_once", ALL_WELL).faults == [
        "mug was charged 0 times.",
        "1 e-mails were due, and 0 were sent.",
    ]


def _promises(shop: Shop) -> Any:
    return shop.modules["promises"]


def _checked(shop: Shop, name: str, seen: Snapshot) -> Any:
    with Session(shop.drive.engine) as session:
        return getattr(_promises(shop), name)(seen, session)


def _kill(*held_ids: int) -> Kill:
    return Kill(label="A", pid=99, held_ids=frozenset(held_ids))


def _add_order(shop: Shop, *, charges: int, emails: int) -> None:
    tables = shop.tables
    shop.add(tables.Order(id=1, name="mug", cents=100))
    shop.add(*(tables.Charge(order_id=1, cents=100) for _ in range(charges)))
    parcel = "Your parcel is on its way"
    shop.add(*(tables.Email(recipient="mug", subject=parcel) for _ in range(emails)))
