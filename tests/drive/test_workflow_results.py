"""What a workflow and its steps returned, as a handle reads it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidInput, NodeNotFound, StepNotDefined
from geneva_drive.testing import drain, perform_next_step, perform_step_inline, speedrun
from tests.looking import error_of, last

Handle = gd.WorkflowHandle[Any]


class Order(gd.Workflow):
    type_name = "test_workflow_results.Order"

    @gd.step(keep_result=True)
    def price(self) -> Decimal:
        return Decimal("9.90")

    @gd.step(keep_result=True)
    def ship(self) -> date:
        return date(2026, 1, 2)


def test_the_result_of_a_workflow_is_what_its_last_step_kept(geneva: gd.Drive) -> None:
    workflow = Order.create()
    perform_next_step(workflow)
    assert workflow.reload().result is None

    speedrun(workflow)

    assert workflow.result == date(2026, 1, 2)
    assert Order.find(workflow.id).result == date(2026, 1, 2)


def test_a_workflow_whose_last_step_kept_nothing_has_no_result(geneva: gd.Drive) -> None:
    class Letter(gd.Workflow):
        @gd.step(keep_result=True)
        def write(self) -> str:
            return "Dear Ada"

        @gd.step
        def send(self) -> str:
            return "ignored"

    workflow = speedrun(Letter.create())

    assert workflow.result is None
    assert workflow.result_of(Letter.write) == "Dear Ada"


def test_a_canceled_workflow_has_no_result(geneva: gd.Drive) -> None:
    workflow = Order.create()
    perform_next_step(workflow)

    workflow.cancel()

    assert workflow.result is None
    assert workflow.result_of("price") == Decimal("9.90")


def test_finish_gives_the_workflow_its_result(geneva: gd.Drive) -> None:
    class Search(gd.Workflow):
        @gd.step
        def look(self) -> None:
            self.finish(result={"found": 7, "on": date(2026, 1, 2)})

        @gd.step(keep_result=True)
        def look_further(self) -> int:
            return 8

    workflow = speedrun(Search.create())

    assert workflow.state == "finished"
    assert workflow.result == {"found": 7, "on": date(2026, 1, 2)}


def test_finish_without_a_result_leaves_the_workflow_without_one(geneva: gd.Drive) -> None:
    class Search(gd.Workflow):
        @gd.step(keep_result=True)
        def look(self) -> int:
            return 7

        @gd.step(keep_result=True)
        def stop(self) -> int:
            self.finish()

    assert speedrun(Search.create()).result is None


def test_an_exception_handler_may_finish_with_a_result(geneva: gd.Drive) -> None:
    class Search(gd.Workflow):
        @gd.step(on_exception=lambda self, error: self.finish(result=str(error)))
        def look(self) -> None:
            raise LookupError("nothing there")

    workflow = speedrun(Search.create())

    assert workflow.result == "nothing there"
    assert error_of(last(workflow)) == ("builtins.LookupError", "nothing there")


def test_a_result_that_cannot_be_stored_is_an_error_of_the_step(geneva: gd.Drive) -> None:
    class Search(gd.Workflow):
        @gd.step
        def look(self) -> None:
            self.finish(result="x" * 2_000_000)

    workflow = speedrun(Search.create())

    assert workflow.state == "paused"
    assert error_of(last(workflow)) == (
        "geneva_drive.errors.PayloadTooLarge",
        "The result of step 'look' is 2,000,002 bytes as JSON; the limit is 1,048,576 bytes. Store "
        "the data elsewhere and keep its key, or raise the setting max_result_size.",
    )


def test_the_result_given_to_finish_stands_before_that_of_a_branch_that_ends_later(
    geneva: gd.Drive,
) -> None:
    class Search(gd.Workflow):
        @gd.task(keep_result=True)
        def slow(self) -> str:
            perform_step_inline(gd.Workflow.find(self.id), "fast")
            return "slow"

        @gd.task
        def fast(self) -> None:
            self.finish(result="fast")

    workflow = Search.create()
    perform_step_inline(workflow, "slow")

    assert workflow.reload().result == "fast"
    assert workflow.result_of(Search.slow) == "slow"


def test_one_partition_may_finish_the_workflow_with_a_result(geneva: gd.Drive) -> None:
    class Search(gd.Workflow):
        @gd.resumable_step(partitions=3)
        def look(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(9)):
                if number == 4:
                    self.finish(result=number)

    workflow = Search.create()
    drain(geneva)

    assert (workflow.reload().state, workflow.result) == ("finished", 4)


def test_a_handle_reads_the_result_of_a_step_while_the_workflow_runs(geneva: gd.Drive) -> None:
    workflow = Order.create()
    assert workflow.result_of(Order.price) is None

    perform_next_step(workflow)

    assert workflow.result_of(Order.price) == Decimal("9.90")
    assert workflow.results_of([Order.price, "ship"]) == [Decimal("9.90"), None]


def test_a_handle_refuses_the_result_of_a_step_that_keeps_none(geneva: gd.Drive) -> None:
    class Letter(gd.Workflow):
        @gd.step
        def send(self) -> None: ...

    workflow = Letter.create()
    with pytest.raises(InvalidInput) as not_kept:
        workflow.result_of(Letter.send)
    with pytest.raises(StepNotDefined) as unknown:
        workflow.result_of("sned")
    with pytest.raises(InvalidInput) as text:
        workflow.results_of("send")
    with pytest.raises(InvalidInput) as nothing:
        workflow.results_of()

    assert str(not_kept.value) == (
        "Step 'send' of Letter keeps no result. Declare it with @gd.step(keep_result=True)."
    )
    assert str(unknown.value) == "Workflow 'Letter' has no step 'sned'. Its steps are: send."
    assert str(text.value) == (
        "results_of() takes a list of nodes, got 'send'. result_of() reads one node."
    )
    assert str(nothing.value) == (
        "results_of() of a handle needs the steps to read, as in results_of(['fetch', 'pack']). "
        "Only inside a step may they be left out: it then reads the steps that the running one "
        "depends on."
    )


class Parent(gd.Workflow):
    type_name = "test_workflow_results.Parent"

    order = gd.child(Order)

    @gd.step(keep_result=True)
    def report(self) -> list[Any]:
        return [self.result_of(Parent.order)]


def test_the_result_of_a_child_node_is_that_of_the_child(geneva: gd.Drive) -> None:
    workflow = Parent.create()

    drain(geneva)

    assert workflow.reload().result == [date(2026, 1, 2)]
    assert workflow.result_of("order") == date(2026, 1, 2)


def test_a_parent_keeps_the_result_of_a_child_that_was_pruned(geneva: gd.Drive) -> None:
    class Later(gd.Workflow):
        order = gd.child(Order)

        @gd.step(wait=3600)
        def report(self) -> None: ...

    workflow = Later.create()
    drain(geneva)
    assert geneva.prune(older_than=0) == 1

    assert workflow.result_of(Later.order) == date(2026, 1, 2)
    assert workflow.children == []


def test_a_workflow_that_ends_with_a_child_has_the_result_of_the_child(geneva: gd.Drive) -> None:
    class Outer(gd.Workflow):
        order = gd.child(Order)

    workflow = Outer.create()
    drain(geneva)

    assert workflow.reload().result == date(2026, 1, 2)


def test_a_join_reads_the_results_of_the_steps_that_it_depends_on(geneva: gd.Drive) -> None:
    class Sum(gd.Workflow):
        @gd.task(keep_result=True)
        def two(self) -> int:
            return 2

        @gd.task(keep_result=True)
        def three(self) -> int:
            return 3

        @gd.step(depends_on=[three, two], keep_result=True)
        def both(self) -> list[int]:
            return self.results_of()

    assert speedrun(Sum.create()).result == [3, 2]


@gd.job
def double(number: int) -> int:
    return 2 * number


@gd.job
def add_up(*, workflow: gd.Workflow[Any]) -> int:
    return sum(workflow.results_of())


@gd.job
def show_results(*, workflow: gd.Workflow[Any]) -> list[Any]:
    return workflow.results_of()


@gd.job
def compare(*, workflow: gd.Workflow[Any]) -> list[Any]:
    return [workflow.result_of("double_2"), workflow.result_of("total"), workflow.results_of()]


def _sum_of_doubles(keep_result: bool = True) -> tuple[Handle, list[str]]:
    w = gd.DynamicWorkflow()
    doubles = w.fan_out(
        [3, 1, 2],
        name="double_{}",
        job=double,
        args=lambda number: {"number": number},
        keep_result=keep_result,
    )
    w.node("total", job=add_up, keep_result=True)
    w.node("compared", job=compare, keep_result=True)
    return w.start(), doubles


def test_jobs_read_the_results_of_the_nodes_that_they_depend_on(geneva: gd.Drive) -> None:
    workflow, doubles = _sum_of_doubles()

    drain(geneva)

    assert workflow.reload().result == [4, 12, [12]]
    assert workflow.results_of(doubles) == [6, 2, 4]
    assert workflow.results_of(["double_1", doubles[0]]) == [2, 6]
    assert workflow.result_of("total") == 12


def test_a_child_of_a_dynamic_workflow_gives_its_node_its_result(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.workflow("order", Order)
    w.node("shown", job=show_results, keep_result=True)
    workflow = w.start()

    drain(geneva)

    assert workflow.reload().result == [date(2026, 1, 2)]


def test_reading_the_result_of_a_node_that_keeps_none_names_the_option(geneva: gd.Drive) -> None:
    workflow, _ = _sum_of_doubles(keep_result=False)

    drain(geneva)

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidInput",
        "Node 'double_3' keeps no result. Add it with keep_result=True, as in "
        "w.node(..., keep_result=True) or w.fan_out(..., keep_result=True).",
    )
    with pytest.raises(NodeNotFound) as unknown:
        workflow.result_of("triple")
    assert str(unknown.value) == (
        f"Workflow {workflow.id} has no node with the name or id 'triple'. "
        f"`geneva show {workflow.id}` lists its nodes."
    )


def test_a_stored_graph_says_which_nodes_keep_their_results(geneva: gd.Drive) -> None:
    workflow, [first, *_] = _sum_of_doubles()
    dag = workflow.dag
    del dag["nodes"][first]["keep_result"]

    workflow.import_dag(dag)

    drain(geneva)
    kept = {e.step_name: e.result for e in workflow.step_executions}
    assert kept["double_3"] is None
    assert (kept["double_1"], kept["double_2"]) == (2, 4)
    assert workflow.dag_definition == {**dag, "signature": workflow.dag["signature"]}


def test_a_frozen_class_keeps_the_results_of_its_jobs(geneva: gd.Drive) -> None:
    class Twice(gd.Workflow):
        two = gd.task(job=double, args={"number": 1}, keep_result=True)

    workflow = Twice.create().freeze_dag()

    assert speedrun(workflow).result_of(Twice.two) == 2


def test_a_node_without_a_job_has_no_result_to_keep(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()

    with pytest.raises(InvalidInput) as caught:
        w.node("meet", keep_result=True)

    assert str(caught.value) == "Node 'meet' has no job, and so no result. Give it a job."
