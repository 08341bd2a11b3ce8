from __future__ import annotations

import io

from rich.console import Console

from geneva_drive.cli.demo.report import report
from geneva_drive.cli.demo.snapshot import Effects, Kill
from tests.cli_demo.snapshots import at, execution, snapshot, workflow

RECOVERED = snapshot(
    workflow(
        "finished",
        execution("charge_card", "failed", id=1, outcome="recovered"),
        execution("charge_card", id=2, attempt_number=2),
        execution("send_tracking", id=3),
        finished_at=at(4.25),
    )
)
KILL = Kill(pid=4321, held_ids=frozenset({1}))
PARCEL = ("mug", "Your parcel is on its way")


def test_the_report_adds_up_what_the_database_holds() -> None:
    paper = io.StringIO()

    is_as_promised = report(
        Console(file=paper, width=80),
        RECOVERED,
        Effects(charges={"mug": 1}, emails={PARCEL: 1}),
        KILL,
    )

    lines = [line.strip() for line in paper.getvalue().splitlines() if line.strip()]
    assert is_as_promised
    assert lines == [
        "What happened, read from the database",
        "workflow  hero  state     executions  attempts  recoveries   time",
        "─" * 67,
        "Checkout  mug   finished           3         2           1  4.2 s",
        "1 workflows finished, 3 step executions recorded, 1 recovered after kill -9, "
        "every completed step recorded exactly once: yes",
        "1 orders, 1 charges; 1 e-mails due, 1 sent",
    ]


def test_a_report_that_does_not_add_up_names_every_fault() -> None:
    paper = io.StringIO()
    twice = snapshot(
        workflow(
            "finished",
            execution("charge_card", id=1),
            execution("charge_card", id=2, attempt_number=2),
            execution("send_tracking", id=3),
        )
    )

    is_as_promised = report(
        Console(file=paper, width=80),
        twice,
        Effects(charges={"mug": 2}, emails={PARCEL: 1}),
        KILL,
    )

    lines = [line.strip() for line in paper.getvalue().splitlines() if line.strip()]
    assert not is_as_promised
    assert lines[-5:] == [
        "1 workflows finished, 3 step executions recorded, 0 recovered after kill -9, "
        "every completed step recorded exactly once: no",
        "1 orders, 2 charges; 1 e-mails due, 1 sent",
        "Wrong: Checkout mug: charge_card is recorded as done 2 times.",
        "Wrong: Execution 1 of the killed worker was not recovered.",
        "Wrong: Checkout mug was charged 2 times.",
    ]
