from __future__ import annotations

import io

from rich.console import Console

from geneva_drive.cli.demo.report import report
from geneva_drive.cli.demo.snapshot import Kill
from tests.cli_demo.snapshots import (
    at,
    checked_order,
    effects,
    execution,
    ledger,
    loop,
    mutations,
    snapshot,
    workflow,
)

RECOVERED = snapshot(
    workflow(
        "finished",
        execution("charge_card", "failed", id=1, outcome="recovered"),
        execution("charge_card", id=2, attempt_number=2),
        execution("send_tracking", id=3, started_at=at(1)),
        finished_at=at(4.25),
    ),
    workflow(
        "finished",
        loop("failed", 300, 1000, id=4, outcome="recovered"),
        loop("completed", 1000, 1000, id=5, attempt_number=2),
        id=2,
        type="Import",
        hero_name="frames",
        step_names=("import_rows",),
    ),
    checked_order(
        "finished",
        execution("validate", finished_at=at(0.1)),
        execution("check_stock", started_at=at(0.1), finished_at=at(0.2)),
        execution("check_fraud", started_at=at(0.1), finished_at=at(0.2)),
        execution("charge", started_at=at(0.2), finished_at=at(0.3)),
        id=3,
    ),
    ledger(
        "finished",
        *mutations(1, 2, "failed", outcome="recovered"),
        *mutations(1, 2, attempt_number=2),
        *mutations(3, 20),
        execution("aggregate", started_at=at(1), finished_at=at(2)),
        id=4,
    ),
)
KILL = Kill(pid=4321, held_ids=frozenset({1}))
KILL_OF_IMPORT = Kill(pid=4322, held_ids=frozenset({4}))
PARCEL = ("mug", "Your parcel is on its way")


def test_the_report_adds_up_what_the_database_holds() -> None:
    paper = io.StringIO()

    is_as_promised = report(
        Console(file=paper, width=80),
        RECOVERED,
        effects(
            charges={"mug": 1},
            emails={PARCEL: 1},
            row_count=100_000,
            article_count=100_000,
            imported_row_count=100_000,
            expected_cents=210,
            balance_cents=210,
        ),
        [KILL, KILL_OF_IMPORT],
    )

    lines = [line.strip() for line in paper.getvalue().splitlines() if line.strip()]
    assert is_as_promised
    assert lines == [
        "What happened, read from the database",
        "workflow      hero    state     executions  attempts  recoveries   time",
        "─" * 73,
        "Checkout      mug     finished           3         2           1  4.2 s",
        "Import        frames  finished           2         2           1  1.0 s",
        "CheckedOrder  wine    finished           4         1              1.0 s",
        "close_ledger  April   finished          23         2           2  1.0 s",
        "4 workflows finished, 32 step executions recorded, 2 recovered after kill -9, "
        "every completed step recorded exactly once: yes",
        "100,000 catalogue rows, 100,000 articles made of them, 1 workers killed on the way, "
        "each row imported exactly once: yes",
        "20 nodes of a fan-out done, 2 recovered after a kill half way, "
        "each done exactly once, and counted once: yes",
        "25 nodes in 2 graphs, 25 done, each after those that it "
        "depends on, verify_ancestry() empty: yes",
        "1 orders, 1 charges; 1 e-mails due, 1 sent",
    ]


def test_a_report_that_does_not_add_up_names_every_fault() -> None:
    paper = io.StringIO()
    twice = snapshot(
        workflow(
            "finished",
            execution("charge_card", id=1),
            execution("charge_card", id=2, attempt_number=2),
            execution("send_tracking", id=3, started_at=at(1)),
        )
    )

    is_as_promised = report(
        Console(file=paper, width=80),
        twice,
        effects(
            charges={"mug": 2},
            emails={PARCEL: 1},
            row_count=2,
            article_count=3,
            expected_cents=210,
            unproven=("Checkout, charge_card",),
        ),
        [KILL],
    )

    lines = [line.strip() for line in paper.getvalue().splitlines() if line.strip()]
    assert not is_as_promised
    assert lines[-12:] == [
        "1 workflows finished, 3 step executions recorded, 0 recovered after kill -9, "
        "every completed step recorded exactly once: no",
        "2 catalogue rows, 3 articles made of them, 0 workers killed on the way, "
        "each row imported exactly once: no",
        "0 nodes of a fan-out done, 0 recovered after a kill half way, "
        "each done exactly once, and counted once: no",
        "0 nodes in 0 graphs, 0 done, each after those that it "
        "depends on, verify_ancestry() empty: no",
        "1 orders, 2 charges; 1 e-mails due, 1 sent",
        "Wrong: Checkout mug: charge_card is recorded as done 2 times.",
        "Wrong: Execution 1 of the killed worker 4321 was not recovered.",
        "Wrong: The ancestry hash of Checkout, charge_card does not match.",
        "Wrong: Checkout mug was charged 2 times.",
        "Wrong: 2 rows of the catalogue were not imported.",
        "Wrong: 3 rows were imported more than once.",
        "Wrong: 0 cents were booked, and not 210.",
    ]
