from __future__ import annotations

from geneva_drive.cli.demo import changes
from geneva_drive.cli.demo.changes import LogLine
from tests.cli_demo.snapshots import (
    at,
    batch_worker,
    checked_order,
    entry,
    execution,
    ledger,
    loop,
    mutations,
    reconciliation,
    refund,
    snapshot,
    workflow,
)

REFUSED = execution(
    "charge_card",
    "failed",
    outcome="reattempted_by_exception",
    error_message="429 Too Many Requests",
)
AGAIN = execution("charge_card", "scheduled", attempt_number=2, scheduled_for=at(1.8))


def test_the_log_has_the_changes_since_the_snapshot_before() -> None:
    before = snapshot(workflow("ready", REFUSED, AGAIN))
    after = snapshot(
        workflow(
            "paused",
            REFUSED,
            execution(
                "charge_card",
                "failed",
                attempt_number=2,
                scheduled_for=at(1.8),
                finished_at=at(1.9),
                outcome="paused_by_exception",
                error_message="no such card",
            ),
        )
    )

    assert changes.between(None, before) == [
        LogLine(at(1), "Checkout mug, charge_card: 429 Too Many Requests; again in 0.8 s", "yellow")
    ]
    assert changes.between(before, after) == [
        LogLine(at(1.9), "Checkout mug, charge_card: no such card; workflow paused", "red")
    ]


def test_a_lost_step_is_logged_with_both_of_its_workers() -> None:
    lost = execution("charge_card", "failed", outcome="recovered")
    successor = execution(
        "charge_card", "in_progress", attempt_number=2, worker_id="worker-2", started_at=at(1.1)
    )

    log = changes.between(None, snapshot(workflow("performing", lost, successor)))

    assert [line.text for line in log] == [
        "Checkout mug, charge_card: lost with worker A",
        "Checkout mug, charge_card: taken over by worker B",
    ]


def test_a_lost_loop_is_logged_with_its_progress() -> None:
    lost = loop("failed", 30_500, 100_000, outcome="recovered")
    successor = loop(
        "in_progress",
        31_900,
        100_000,
        attempt_number=2,
        worker_id="worker-2",
        started_at=at(1.1),
        finished_at=None,
    )

    importing = workflow("performing", lost, successor, step_names=("import_rows",))
    log = changes.between(None, snapshot(importing))

    assert [line.text for line in log] == [
        "Checkout mug, import_rows: lost with worker A after 30,500 items",
        "Checkout mug, import_rows: taken over by worker B after item 30,500",
    ]


def test_the_end_of_a_workflow_follows_the_end_of_its_last_step() -> None:
    skipped = execution("charge_card", "skipped", outcome="skipped_by_condition")
    last = execution("send_tracking", finished_at=at(1.5))

    ended = workflow("finished", skipped, last, finished_at=at(1.5))
    log = changes.between(None, snapshot(ended))

    assert [line.text for line in log] == [
        "Checkout mug, charge_card: skipped",
        "Checkout mug, send_tracking: completed",
        "Checkout mug finished",
    ]


def test_parallel_nodes_are_logged_with_their_own_next_attempt() -> None:
    order = checked_order(
        "performing",
        execution("validate", id=1, finished_at=at(0.5)),
        execution("check_stock", "failed", id=2, outcome="recovered"),
        execution(
            "check_fraud",
            "failed",
            id=3,
            finished_at=at(1.5),
            outcome="reattempted_by_exception",
            error_message="no answer",
        ),
        execution("check_stock", "in_progress", id=4, worker_id="worker-2", started_at=at(1.2)),
        execution("check_fraud", "scheduled", id=5, scheduled_for=at(2)),
    )

    log = changes.between(None, snapshot(order))

    assert [line.text for line in log] == [
        "CheckedOrder wine, validate: completed",
        "CheckedOrder wine, check_stock: lost with worker A",
        "CheckedOrder wine, check_stock: taken over by worker B",
        "CheckedOrder wine, check_fraud: no answer; again in 0.5 s",
    ]


def test_the_log_says_what_people_did_and_what_came_of_it() -> None:
    approved = execution("approval", outcome="approved", finished_at=at(9))
    entries = (
        entry("escalate", None, "to role 'director'", at(6)),
        entry("approve", "dora", "a loyal customer", at(8)),
        entry("pause", "olga", None, at(8.5)),
    )

    log = changes.between(None, snapshot(refund("performing", approved, audit_entries=entries)))

    assert [line.text for line in log] == [
        "Refund mug: escalate, to role 'director'",
        "Refund mug: approve by dora, a loyal customer",
        "Refund mug: pause by olga",
        "Refund mug, approval: approved",
    ]


def test_the_workers_of_a_batch_are_logged_one_by_one() -> None:
    batch = reconciliation(
        "performing",
        batch_worker(1, "failed", 600, outcome="recovered"),
        batch_worker(
            2, "failed", 300, outcome="paused_by_exception", error_message="no 7", finished_at=at(2)
        ),
        batch_worker(1, "in_progress", 600, attempt_number=2, started_at=at(3)),
    )

    log = changes.between(None, snapshot(batch))

    assert [line.text for line in log] == [
        "Reconcile march, rows: completed",
        "Reconcile march, add_rows_001: lost with worker A after 600 items",
        "Reconcile march, add_rows_002: no 7; the others go on",
        "Reconcile march, add_rows_001: taken over by worker A after item 600",
    ]


def test_the_nodes_of_a_fan_out_share_a_line() -> None:
    lost = mutations(1, 3, "failed", outcome="recovered", finished_at=at(1.5))
    again = mutations(1, 3, attempt_number=2, finished_at=at(1.8))
    last = execution("aggregate", id=30, started_at=at(1.8), finished_at=at(1.9))

    closed = ledger("finished", *lost, *mutations(4, 20), *again, last, finished_at=at(1.9))
    log = changes.between(None, snapshot(closed))

    assert [line.text for line in log] == [
        "close_ledger: 3 nodes recovered from worker A",
        "close_ledger: all 20 nodes completed",
        "close_ledger, aggregate: completed",
        "close_ledger finished",
    ]
