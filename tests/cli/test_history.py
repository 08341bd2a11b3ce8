"""`geneva history`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import update

import geneva_drive as gd
from geneva_drive.testing import perform_next_step, run_iterations, speedrun
from geneva_drive.worker.identity import name_in, process_name
from tests.cli.conftest import Run
from tests.cli.loops import let_stand_at
from tests.cli.screens import drawn, screen


def _create_payment() -> None:
    class Payment(gd.Workflow):
        @gd.step
        def reserve(self) -> None: ...

        @gd.step(on_exception="reattempt", max_reattempts=1)
        def charge(self) -> None:
            raise TimeoutError("The gateway [did] not answer.")

    payment = Payment.create()
    speedrun(payment)
    payment.skip(reason="Paid in cash", actor="bob")


def test_the_history_tells_every_attempt_its_errors_and_the_commands(
    standing: gd.Drive, run: Run
) -> None:
    _create_payment()

    result = run("history", "1")

    assert result.exit_code == 0
    assert screen(result) == drawn("""
        Payment 1 is finished

        Step     Attempt  Outcome                   When (UTC)           Took
        ─────────────────────────────────────────────────────────────────────
        reserve        1  success                   2026-01-02 03:04:05  0 ms
        charge         1  reattempted by exception  2026-01-02 03:04:05  0 ms
        charge         2  paused by exception       2026-01-02 03:04:05  0 ms
        charge         3  skipped by operator       2026-01-02 03:04:05

        charge, attempt 1: TimeoutError: The gateway [did] not answer.

        charge, attempt 2: TimeoutError: The gateway [did] not answer.

        Command  At (UTC)             Actor  Reason
        ─────────────────────────────────────────────────
        skip     2026-01-02 03:04:05  bob    Paid in cash
    """)


def test_a_narrow_history_leaves_out_the_year_and_breaks_no_outcome(
    standing: gd.Drive, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    class Signup(gd.Workflow):
        @gd.step(on_exception="reattempt", max_reattempts=1)
        def send_the_welcome_mail(self) -> None:
            raise TimeoutError("no answer")

    perform_next_step(Signup.create())

    assert screen(run("history", "1")) == drawn("""
        Signup 1 is ready

        Step                   Attempt  Outcome                   When (UTC)      Took
        ──────────────────────────────────────────────────────────────────────────────
        send_the_welcome_mail        1  reattempted by exception  01-02 03:04:05  0 ms
        send_the_welcome_mail        2  scheduled                 01-02 03:04:05

        send_the_welcome_mail, attempt 1: TimeoutError: no answer
    """)


def test_where_an_error_was_raised_is_told_if_asked_for(standing: gd.Drive, run: Run) -> None:
    _create_payment()

    lines = run("history", "1", "--traceback").stdout.splitlines()

    told = lines.index("charge, attempt 1: TimeoutError: The gateway [did] not answer.")
    assert lines[told + 1] == "Traceback (most recent call last):"
    assert '    raise TimeoutError("The gateway [did] not answer.")' in lines[told:]
    assert lines.count("Traceback (most recent call last):") == 2


def test_a_node_of_a_dynamic_workflow_is_called_by_its_name(standing: gd.Drive, run: Run) -> None:
    @gd.job(name="send")
    def send() -> None:
        raise TimeoutError("no answer")

    w = gd.DynamicWorkflow()
    w.node("n", job=send)
    speedrun(w.start())

    lines = screen(run("history", "1")).splitlines()

    assert lines[4].split()[:3] == ["n", "1", "paused"]
    assert lines[6] == "n, attempt 1: TimeoutError: no answer"


def test_a_scheduled_step_is_told_with_its_time(standing: gd.Drive, run: Run) -> None:
    class Later(gd.Workflow):
        @gd.step(wait=timedelta(days=1))
        def only(self) -> None: ...

    Later.create()

    result = run("history", "1")

    assert screen(result) == drawn("""
        Later 1 is ready

        Step  Attempt  Outcome    When (UTC)           Took
        ───────────────────────────────────────────────────
        only        1  scheduled  2026-01-03 03:04:05
    """)


def test_the_history_as_json_is_the_execution_and_its_steps(standing: gd.Drive, run: Run) -> None:
    _create_payment()

    trace = json.loads(run("history", "1", "--json").stdout)

    assert sorted(trace) == ["approvals", "execution", "resume_requests", "steps"]
    assert (trace["execution"]["type"], trace["execution"]["state"]) == ("Payment", "finished")
    assert [(s["step_name"], s["attempt_number"], s["state"]) for s in trace["steps"]] == [
        ("reserve", 1, "completed"),
        ("charge", 1, "failed"),
        ("charge", 2, "failed"),
        ("charge", 3, "skipped"),
    ]


def test_the_history_as_json_tells_interruptions_and_skipped_items(
    standing: gd.Drive, run: Run
) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step(on_item_error="skip")
        def import_rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(10)):
                if number == 2:
                    raise ValueError("row 2 has no price")

    run_iterations(Import.create(), "import_rows", count=5)

    [step] = json.loads(run("history", "1", "--json").stdout)["steps"]

    assert step["interruptions"] == [
        {
            "reason": "max_iterations",
            "cursor": 5,
            "completed_iterations": 5,
            "at": "2026-01-02T03:04:05Z",
        }
    ]
    assert step["skipped_items"] == [
        {
            "item": "2",
            "cursor": 3,
            "error_class": "builtins.ValueError",
            "error_message": "row 2 has no price",
            "at": "2026-01-02T03:04:05Z",
        }
    ]


def test_a_step_as_json_has_every_field_of_a_step_execution(standing: gd.Drive, run: Run) -> None:
    class Sum(gd.Workflow):
        @gd.step(keep_result=True)
        def add(self) -> int:
            return 5

    speedrun(Sum.create())

    [step] = json.loads(run("history", "1", "--json").stdout)["steps"]

    assert name_in(step.pop("worker_id")) == f"{process_name()} (inline)"
    assert step == {
        "id": 1,
        "workflow_id": 1,
        "step_name": "add",
        "node_id": "add",
        "attempt_number": 1,
        "state": "completed",
        "outcome": "success",
        "queue": "default",
        "priority": 0,
        "scheduled_for": "2026-01-02T03:04:05Z",
        "started_at": "2026-01-02T03:04:05Z",
        "finished_at": "2026-01-02T03:04:05Z",
        "completed_at": "2026-01-02T03:04:05Z",
        "failed_at": None,
        "skipped_at": None,
        "canceled_at": None,
        "error_class": None,
        "error_message": None,
        "error_backtrace": None,
        "result": 5,
        "metadata": {},
        "cursor": None,
        "approval_id": None,
        "completed_iterations": 0,
        "progress": None,
        "interruptions": [],
        "skipped_items": [],
    }


def test_items_interruptions_and_skipped_items_are_told_of_a_resumable_step(
    standing: gd.Drive, run: Run
) -> None:
    class Import(gd.Workflow):
        @gd.step
        def fetch(self) -> None: ...

        @gd.resumable_step(on_item_error="skip")
        def import_rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(1200)):
                if number == 7:
                    raise ValueError("row 7 has [no] price")

    workflow = Import.create()
    perform_next_step(workflow)
    run_iterations(workflow, "import_rows", count=1100)
    run_iterations(workflow, "import_rows", count=50)

    result = run("history", "1")

    assert screen(result) == drawn("""
        Import 1 is ready

        Step         Attempt  Outcome    Items  When (UTC)           Took
        ─────────────────────────────────────────────────────────────────
        fetch              1  success           2026-01-02 03:04:05  0 ms
        import_rows        1  suspended  1,150  2026-01-02 03:04:05

        import_rows, attempt 1: at cursor 1150

        import_rows, attempt 1: interrupted 2 times by max_iterations

        import_rows, attempt 1: 1 item was skipped:
        Item  Error
        ──────────────────────────────────────
        7     ValueError: row 7 has [no] price
    """)


def test_a_loop_that_was_rewound_is_told_with_its_cursor(standing: gd.Drive, run: Run) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step
        def import_rows(self, it: gd.IterableStep) -> None: ...

    Import.create().rewind("import_rows", 9)

    lines = screen(run("history", "1")).splitlines()

    assert lines[7] == "import_rows, attempt 2: at cursor 9"


def test_every_reason_of_an_interruption_is_counted(standing: gd.Drive, run: Run) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step
        def import_rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(10)):
                if number == 3 and not it.resumed:
                    self.suspend()

    workflow = Import.create()
    run_iterations(workflow, "import_rows", count=5)
    run_iterations(workflow, "import_rows", count=1)
    run_iterations(workflow, "import_rows", count=1)

    result = run("history", "1")

    assert screen(result).splitlines()[-1] == (
        "import_rows, attempt 1: interrupted 3 times: 2 by max_iterations, 1 by suspend"
    )


@pytest.mark.parametrize(
    ("source", "cursor"),
    [
        pytest.param(lambda: [object()], "cursor 1", id="an object"),
        pytest.param(lambda: [[object(), object()]], "cursor 1", id="a batch of objects"),
        pytest.param(lambda: [{"of": 5}], "{'of': 5}", id="words of its own"),
    ],
)
def test_a_skipped_item_without_words_of_its_own_is_named_by_its_cursor(
    standing: gd.Drive, run: Run, source: Callable[[], list[object]], cursor: str
) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step(on_item_error="skip")
        def import_rows(self, it: gd.IterableStep) -> None:
            for _ in it.iterate_over(source()):
                raise ValueError("no price")

    speedrun(Import.create())

    last = screen(run("history", "1")).splitlines()[-1]

    assert last.split("  ")[0] == cursor


def test_of_many_skipped_items_the_first_twenty_are_listed(standing: gd.Drive, run: Run) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step(on_item_error="skip")
        def import_rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(21)):
                raise ValueError(f"no row {number}")

    speedrun(Import.create())

    lines = screen(run("history", "1")).splitlines()

    heading = lines.index("import_rows, attempt 1: 21 items were skipped; the first 20:")
    assert lines[heading + 3] == "0     ValueError: no row 0"
    assert lines[heading + 22 :] == ["19    ValueError: no row 19"]


def test_a_cursor_is_printed_as_it_is_stored_where_its_type_is_not_known(
    standing: gd.Drive, run: Run
) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step
        def import_rows(self, it: gd.IterableStep) -> None:
            it.set(1)

    workflow = Import.create()
    run_iterations(workflow, "import_rows", count=1)
    let_stand_at(standing, 50, total=200, seconds=10)
    stored = '{"$type":"shop.Money","value":[5,"EUR"]}'
    with standing.engine.begin() as connection:
        connection.execute(update(standing.store.tables.step_executions).values(cursor=stored))

    [step] = json.loads(run("history", "1", "--json").stdout)["steps"]

    assert step["cursor"] == {"$type": "shop.Money", "value": [5, "EUR"]}
    assert step["completed_iterations"] == 50
    assert step["progress"] == {
        "done": 50,
        "total": 200,
        "unit": "items",
        "rate": 5.0,
        "remaining_seconds": 30.0,
    }
