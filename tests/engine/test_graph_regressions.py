"""What a change to the engine has once broken in graphs, and must not break again."""

from __future__ import annotations

import json

import pytest

import geneva_drive as gd
from geneva_drive.definition import registry
from geneva_drive.testing import drain, perform_step_inline
from tests.deploys import former_code

ran: list[str] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


def test_a_child_that_has_ended_is_not_started_again_when_its_node_is_recovered(
    geneva: gd.Drive,
) -> None:
    class Ship(gd.Workflow):
        @gd.step
        def ship(self) -> None:
            ran.append("ship")

    class Parent(gd.Workflow):
        def before_step_starts(self, step_name: str) -> None:
            ran.append(step_name)
            if ran.count("kid") == 2:
                raise SystemExit  # as the worker that was about to say how the child ended

        kid = gd.child(Ship)

    parent = Parent.create()

    drain()

    assert parent.reload().state == "finished"
    assert (ran.count("ship"), Ship.finished().count()) == (1, 1)
    assert [(e.attempt_number, e.outcome) for e in parent.step_executions] == [
        (1, "recovered"),
        (2, "success"),
    ]


def test_a_child_that_starts_while_its_parent_is_being_canceled_is_canceled_with_it(
    geneva: gd.Drive,
) -> None:
    class Slow(gd.Workflow):
        @gd.step(wait=3600)
        def later(self) -> None: ...

    class Parent(gd.Workflow):
        def before_step_starts(self, step_name: str) -> None:
            self.handle.cancel()

        kid = gd.child(Slow)

    parent = Parent.create()

    perform_step_inline(parent, "kid")

    assert parent.reload().state == "canceled"
    assert [child.state for child in Slow.canceled()] == ["canceled"]


def test_a_node_that_an_import_took_out_is_not_run_again_by_resume(geneva: gd.Drive) -> None:
    @gd.job(name="regressions.note")
    def note(node: gd.JobNode) -> None:
        ran.append(node.name)
        if node.name == "bad":
            raise ValueError("bad")

    w = gd.DynamicWorkflow()
    first = w.node("first", job=note)
    bad = w.node("bad", job=note)
    last = w.node("last", job=note)
    workflow = w.start()
    drain()
    document = json.loads(workflow.reload().export_dag())
    del document["nodes"][bad]
    document["nodes"][last]["depends_on"] = [first]

    workflow.import_dag(document)
    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert ran == ["first", "bad", "last"]


def test_a_graph_is_not_resumed_where_its_class_is_not_known(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Order(gd.Workflow):
        type_name = "UnknownHere"

        @gd.task
        def bad(self) -> None:
            raise ValueError("bad")

        @gd.task(wait=3600)
        def late(self) -> None: ...

    workflow = Order.create()
    drain()
    find = registry.definition_for
    monkeypatch.setattr(
        registry, "definition_for", lambda name: None if name == "UnknownHere" else find(name)
    )

    with pytest.raises(gd.errors.NotFound):
        workflow.reload().resume()

    assert workflow.reload().state == "paused"


def test_a_loop_whose_worker_gave_it_back_goes_on_from_its_last_checkpoint(
    geneva: gd.Drive,
) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(6)):
                ran.append(str(number))
                if number == 3 and ran.count("3") == 1:
                    raise SystemExit

    workflow = Import.create()

    drain()

    assert workflow.reload().state == "finished"
    assert ran == ["0", "1", "2", "3", "3", "4", "5"]


def test_a_step_of_a_stored_graph_that_was_renamed_since_is_not_run_again(
    geneva: gd.Drive,
) -> None:
    with former_code():

        class Former(gd.Workflow):
            type_name = "FrozenAndRenamed"

            @gd.step
            def a(self) -> None:
                ran.append("a")

            @gd.step
            def b(self) -> None:
                ran.append("b")

            @gd.step
            def d(self) -> None:
                ran.append("d")

        workflow = Former.create()
        workflow.freeze_dag()
        perform_step_inline(workflow, "a")
        perform_step_inline(workflow, "b")

    class Present(gd.Workflow):
        type_name = "FrozenAndRenamed"

        @gd.step
        def a(self) -> None:
            ran.append("a")

        @gd.step(renamed_from="b")
        def c(self) -> None:
            ran.append("c")

        @gd.step
        def d(self) -> None:
            ran.append("d")

    drain()

    assert workflow.reload().state == "finished"
    assert ran == ["a", "b", "d"]
    assert workflow.progress().fraction == 1.0
    assert workflow.verify_ancestry() == []


def test_a_branch_that_was_chosen_and_renamed_since_runs(geneva: gd.Drive) -> None:
    with former_code():

        class Former(gd.Workflow):
            type_name = "ChosenAndRenamed"

            @gd.task
            def slow(self) -> None: ...

            @gd.decision
            def route(self) -> str:
                return "x"

            @gd.task(depends_on=[route, slow])
            def x(self) -> None:
                ran.append("x")

        workflow = Former.create()
        perform_step_inline(workflow, "route")

    class Present(gd.Workflow):
        type_name = "ChosenAndRenamed"

        @gd.task
        def slow(self) -> None: ...

        @gd.decision
        def route(self) -> str:
            return "y"

        @gd.task(depends_on=[route, slow], renamed_from="x")
        def y(self) -> None:
            ran.append("y")

    drain()

    assert workflow.reload().state == "finished"
    assert ran == ["y"]
