"""What was stored by other code, and cannot be read by this one, is an error of its step."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update

import geneva_drive as gd
from geneva_drive.testing import drain, perform_next_step, run_iterations, speedrun
from tests.looking import error_of, history, last
from tests.looping import importing, importing_in_transactions, records, through

GONE = '{"$type":"shop.Voucher","value":7}'
MOVED = '{"$type":"enum","value":["shop.colors:Color","red"]}'
WAY_OUT = "Fix this and resume the workflow, or start the step over with `geneva rewind`."
UNREADABLE = (
    "geneva_drive.errors.InvalidInput",
    "The saved cursor of step 'rows' cannot be read. The database holds a value of type "
    "'shop.Voucher', which is not registered in this process. Register it with "
    f"gd.register_serializer in a module that the app imports. {WAY_OUT}",
)


def write(drive: gd.Drive, workflow: gd.WorkflowHandle[Any], **values: str) -> None:
    """Write columns of a workflow's active executions, as other code would have."""
    table = drive.store.tables.step_executions
    with drive.engine.begin() as connection:
        connection.execute(
            update(table)
            .where(table.c.workflow_id == workflow.id, table.c.finished_at.is_(None))
            .values(**values)
        )


def stopped_at(drive: gd.Drive, cursor: str, **options: Any) -> gd.WorkflowHandle[Any]:
    """A workflow whose loop has done two items, and stands at a cursor of other code."""
    workflow = importing(through(range(4), []), **options)
    run_iterations(workflow, "rows", count=2)
    write(drive, workflow, cursor=cursor)
    return workflow


RUNS: dict[str, Callable[[gd.Drive, gd.WorkflowHandle[Any]], object]] = {
    "speedrun": lambda drive, workflow: speedrun(workflow),
    "drain": lambda drive, workflow: drain(drive),
    "worker": lambda drive, workflow: drive.worker(concurrency=1).run_until_idle(),
}


@pytest.mark.parametrize("run", RUNS)
def test_a_cursor_of_an_unknown_type_pauses_the_workflow_and_stays(
    geneva: gd.Drive, run: str, caplog: pytest.LogCaptureFixture
) -> None:
    workflow = stopped_at(geneva, GONE)
    RUNS[run](geneva, workflow)

    assert workflow.reload().state == "paused"
    assert history(workflow) == [("rows", "failed", "paused_by_exception")]
    assert error_of(last(workflow)) == UNREADABLE
    assert (last(workflow).stored_cursor, last(workflow).completed_iterations) == (GONE, 2)
    assert [line for line in caplog.records if line.levelno >= logging.ERROR] == []


def test_a_cursor_of_an_enum_that_moved_names_the_enum(geneva: gd.Drive) -> None:
    workflow = speedrun(stopped_at(geneva, MOVED))

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidInput",
        "The saved cursor of step 'rows' cannot be read. The database holds a member of the Enum "
        "'shop.colors:Color', and no module imported in this process defines it. Import "
        "'shop.colors' in the app. If the Enum was moved or renamed, keep its old name as an "
        f"alias. {WAY_OUT}",
    )


class Fraying:
    """A type whose stored form can be written, and no longer read."""


def test_a_cursor_that_its_serializer_fails_to_read_tells_what_it_raised(
    geneva: gd.Drive,
) -> None:
    gd.register_serializer(Fraying, encode=lambda _: 1, decode=_fray, name="tests-fraying")
    workflow = speedrun(stopped_at(geneva, '{"$type":"tests-fraying","value":1}'))

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidInput",
        f"The saved cursor of step 'rows' cannot be read. OSError: frayed. {WAY_OUT}",
    )


def _fray(stored: object) -> Fraying:
    raise OSError("frayed")


def test_the_policy_of_the_step_has_its_say_in_an_unreadable_cursor(geneva: gd.Drive) -> None:
    workflow = speedrun(stopped_at(geneva, GONE, on_exception="skip"))

    assert workflow.state == "finished"
    assert history(workflow) == [
        ("rows", "skipped", "skipped_by_exception"),
        ("report", "completed", "success"),
    ]


def test_a_step_that_is_not_to_run_needs_no_cursor(geneva: gd.Drive) -> None:
    is_over: list[bool] = []
    workflow = stopped_at(geneva, GONE, skip_if=lambda self: is_over)
    is_over.append(True)

    assert speedrun(workflow).state == "finished"
    assert history(workflow)[0] == ("rows", "skipped", "skipped_by_condition")


def test_once_the_cursor_can_be_read_the_loop_goes_on_from_there(geneva: gd.Drive) -> None:
    workflow = speedrun(stopped_at(geneva, GONE))
    workflow.resume()
    assert (last(workflow).stored_cursor, last(workflow).completed_iterations) == (GONE, 2)

    write(geneva, workflow, cursor="3")
    assert speedrun(workflow).state == "finished"
    assert history(workflow)[1] == ("rows", "completed", "success")
    assert workflow.step_executions[1].completed_iterations == 3


def test_a_rewind_is_the_way_out_of_an_unreadable_cursor(geneva: gd.Drive) -> None:
    workflow = speedrun(stopped_at(geneva, GONE))
    workflow.rewind("rows").resume()

    assert speedrun(workflow).state == "finished"
    assert workflow.step_executions[-2].completed_iterations == 4


def test_a_loop_with_transactions_fails_by_its_unreadable_cursor_too(geneva: gd.Drive) -> None:
    workflow = importing_in_transactions(lambda self, it, session: it.advance())
    write(geneva, workflow, cursor=GONE)
    perform_next_step(workflow)

    assert error_of(last(workflow)) == UNREADABLE
    assert last(workflow).stored_cursor == GONE


def test_a_loop_with_transactions_that_cannot_read_what_it_saved_fails(geneva: gd.Drive) -> None:
    gd.register_serializer(Fraying, encode=lambda _: 1, decode=_fray, name="tests-fraying")

    def body(self: Any, it: gd.IterableStep, session: Any) -> None:
        it.set(Fraying())
        raise ValueError("no")

    workflow = importing_in_transactions(body)
    perform_next_step(workflow)

    assert workflow.reload().state == "paused"
    assert error_of(last(workflow))[1] == (
        f"The saved cursor of step 'rows' cannot be read. OSError: frayed. {WAY_OUT}"
    )
    assert last(workflow).completed_iterations == 1


def test_a_share_whose_end_cannot_be_read_fails_and_holds_the_others(geneva: gd.Drive) -> None:
    workflow = importing(through(range(4), []), partitions=2)
    perform_next_step(workflow)
    [_, first, second] = records(geneva, workflow)
    for share in (first, second):
        assert share.share is not None
        text = share.share.replace('"until":2', f'"until":{GONE}')
        table = geneva.store.tables.step_executions
        with geneva.engine.begin() as connection:
            connection.execute(update(table).where(table.c.id == share.id).values(share=text))
    perform_next_step(workflow)

    assert workflow.reload().state == "paused"
    assert "partition 1 of 2" not in workflow.why()
    [_, first_share, second_share] = workflow.step_executions
    assert error_of(first_share) == UNREADABLE
    assert second_share.state == "scheduled"
    assert speedrun(workflow.rewind("rows").resume()).state == "finished"


def _use_context(self: Any) -> None:
    _ = self.context["voucher"]


def test_a_context_of_an_unknown_type_is_an_error_of_the_step_that_reads_it(
    geneva: gd.Drive,
) -> None:
    class Order(gd.Workflow):
        @gd.step
        def book(self) -> None: ...

        @gd.step(on_exception="skip")
        def redeem(self) -> None:
            _use_context(self)

    workflow = Order.create()
    table = geneva.store.tables.workflows
    with geneva.engine.begin() as connection:
        connection.execute(update(table).values(context=f'{{"voucher":{GONE}}}'))
    speedrun(workflow)

    assert history(workflow)[1] == ("redeem", "skipped", "skipped_by_exception")
    assert last(workflow).error_class == "geneva_drive.errors.UnknownStoredType"
    assert workflow.reload().stored_context == f'{{"voucher":{GONE}}}'


def test_a_kept_result_of_an_unknown_type_is_an_error_of_the_step_that_reads_it(
    geneva: gd.Drive,
) -> None:
    class Order(gd.Workflow):
        @gd.step(keep_result=True)
        def book(self) -> int:
            return 1

        @gd.step
        def redeem(self) -> None:
            self.result_of(Order.book)

    workflow = Order.create()
    perform_next_step(workflow)
    table = geneva.store.tables.step_executions
    with geneva.engine.begin() as connection:
        connection.execute(update(table).where(table.c.result.is_not(None)).values(result=GONE))
    speedrun(workflow)

    assert workflow.state == "paused"
    assert last(workflow).error_class == "geneva_drive.errors.UnknownStoredType"
    assert workflow.step_executions[0].stored_result == GONE


@gd.job(on_exception="skip")
def redeem(voucher: object) -> None: ...


class VoucherRedemption(gd.Workflow):
    @gd.step
    def redeem(self) -> None: ...


def _of_job(building: gd.DynamicWorkflow) -> None:
    building.node("redeem", job=redeem, args={"voucher": 1})


def _of_child(building: gd.DynamicWorkflow) -> None:
    building.workflow("redeem", VoucherRedemption, context={"voucher": 1})


@pytest.mark.parametrize(
    ("build", "outcome"),
    [(_of_job, "skipped_by_exception"), (_of_child, "paused_by_exception")],
    ids=["job", "child"],
)
def test_arguments_of_an_unknown_type_are_an_error_of_their_node(
    geneva: gd.Drive, build: Any, outcome: str
) -> None:
    building = gd.DynamicWorkflow()
    build(building)
    workflow = building.start()
    table = geneva.store.tables.graph_nodes
    with geneva.engine.begin() as connection:
        [args] = connection.scalars(table.select().with_only_columns(table.c.args))
        spoilt = args.replace('"voucher":1', f'"voucher":{GONE}')
        connection.execute(update(table).values(args=spoilt))
    drain(geneva)

    [execution] = workflow.reload().step_executions
    assert execution.outcome == outcome
    assert execution.error_class == "geneva_drive.errors.UnknownStoredType"
