"""Resetting a step for retry: one that failed, or one that a worker has not given back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidInput, InvalidStateError, StepNotDefined
from geneva_drive.testing import (
    crash_after,
    drain,
    expire_leases,
    perform_next_step,
    perform_step_inline,
    run_iterations,
    speedrun,
)
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.identity import Identity
from tests.looking import history, last

Handle = gd.WorkflowHandle[Any]

SEEN: list[int] = []
BROKEN: set[str] = set()


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    SEEN.clear()
    BROKEN.clear()


class Import(gd.Workflow[Any]):
    type_name = "test_resetting.Import"

    @gd.step
    def fetch(self) -> None: ...

    @gd.resumable_step(retry=gd.Retry(max=1))
    def load(self, it: gd.IterableStep) -> None:
        for item in it.iterate_over(range(6)):
            if item == 3 and "load" in BROKEN:
                raise ValueError("broken")
            SEEN.append(item)

    @gd.step
    def report(self) -> None: ...


class Order(gd.Workflow[Any]):
    """stock, fraud -> charge."""

    type_name = "test_resetting.Order"

    @gd.task
    def stock(self) -> None:
        if "stock" in BROKEN:
            raise ValueError("broken")

    @gd.task
    def fraud(self) -> None:
        if "fraud" in BROKEN:
            raise ValueError("broken")

    @gd.task(depends_on=[stock, fraud])
    def charge(self) -> None: ...


def _failed_import() -> Handle:
    BROKEN.add("load")
    workflow = speedrun(Import.create())
    BROKEN.clear()
    assert workflow.state == "paused"
    return workflow


def _held(drive: gd.Drive, workflow: Handle) -> Identity:
    """Leave what is due in the hands of a worker that is alive, but does nothing."""
    worker = Identity(name="shop:1")
    worker.register(drive.store, drive.settings.lease)
    claim_due(drive.environment, worker, 10)
    workflow.reload()
    return worker


def _refusal(act: Callable[[], object], kind: type[Exception] = InvalidStateError) -> str:
    with pytest.raises(kind) as refusal:
        act()
    return str(refusal.value)


def test_a_failed_loop_goes_on_from_its_checkpoint(geneva: gd.Drive) -> None:
    workflow = _failed_import()

    workflow.reset_for_retry("load", actor="ann", reason="file repaired")

    assert workflow.state == "ready"
    assert last(workflow).attempt_number == 3
    speedrun(workflow)
    assert workflow.state == "finished"
    assert SEEN == [0, 1, 2, 3, 4, 5]
    assert [(e.command, e.actor, e.reason) for e in workflow.audit_entries] == [
        ("reset_for_retry", "ann", "file repaired")
    ]


def test_with_reset_checkpoint_the_loop_starts_over(geneva: gd.Drive) -> None:
    workflow = _failed_import()

    workflow.reset_for_retry(Import.load, reset_checkpoint=True, actor="ann")
    speedrun(workflow)

    assert SEEN == [0, 1, 2, 0, 1, 2, 3, 4, 5]


def test_the_failures_before_a_reset_do_not_count(geneva: gd.Drive) -> None:
    workflow = _failed_import()
    workflow.reset_for_retry("load", actor="ann")
    BROKEN.add("load")

    speedrun(workflow)

    assert [outcome for step, _, outcome in history(workflow) if step == "load"] == [
        "reattempted_by_exception",
        "paused_by_exception",
        "reattempted_by_exception",
        "paused_by_exception",
    ]


def test_a_step_whose_worker_is_lost_goes_on_from_its_checkpoint(geneva: gd.Drive) -> None:
    workflow = Import.create()
    perform_next_step(workflow)
    with crash_after(items=3):
        perform_step_inline(workflow, "load")
    expire_leases(geneva)

    workflow.reset_for_retry("load", actor="ann")

    assert history(workflow)[1:] == [("load", "failed", "recovered"), ("load", "scheduled", None)]
    former = workflow.step_executions[1]
    assert former.error_message == "It was reset by ann before it ended."
    speedrun(workflow)
    assert SEEN == [0, 1, 2, 2, 3, 4, 5]


def test_a_step_whose_worker_is_lost_starts_over_with_reset_checkpoint(geneva: gd.Drive) -> None:
    workflow = Import.create()
    perform_next_step(workflow)
    with crash_after(items=3):
        perform_step_inline(workflow, "load")
    expire_leases(geneva)

    workflow.reset_for_retry("load", reset_checkpoint=True, actor="ann")
    speedrun(workflow)

    assert SEEN == [0, 1, 2, 0, 1, 2, 3, 4, 5]


def test_a_step_is_not_taken_from_a_worker_that_is_alive(geneva: gd.Drive) -> None:
    workflow = Import.create()
    _held(geneva, workflow)

    assert _refusal(lambda: workflow.reset_for_retry("fetch", actor="ann")) == (
        "Cannot reset step 'fetch': worker shop:1 is alive and runs it. Wait until it ends, or "
        "drop its result with force=True in code or --force in the shell."
    )
    assert history(workflow.reload()) == [("fetch", "in_progress", None)]
    assert workflow.audit_entries == []


def test_force_takes_a_step_from_a_worker_that_is_alive(geneva: gd.Drive) -> None:
    workflow = Import.create()
    _held(geneva, workflow)

    workflow.reset_for_retry("fetch", actor="ann", force=True)

    assert history(workflow) == [("fetch", "failed", "recovered"), ("fetch", "scheduled", None)]
    assert last(workflow).attempt_number == 2


def test_the_late_result_of_the_old_worker_is_dropped(geneva: gd.Drive) -> None:
    class Slow(gd.Workflow):
        @gd.step(keep_result=True)
        def work(self) -> int:
            if self.attempt == 1:
                gd.Workflow.find(self.id).reset_for_retry("work", actor="ann", force=True)
            return self.attempt

    workflow: Handle = Slow.create()
    drain()

    assert history(workflow.reload()) == [
        ("work", "failed", "recovered"),
        ("work", "completed", "success"),
    ]
    assert workflow.result == 2


def test_a_pause_that_was_requested_takes_effect_when_the_step_is_reset(geneva: gd.Drive) -> None:
    workflow = Import.create()
    _held(geneva, workflow)
    workflow.pause(reason="stock-taking")
    expire_leases(geneva)

    workflow.reset_for_retry("fetch", actor="ann")

    assert (workflow.state, workflow.paused_reason) == ("paused", "stock-taking")
    assert drain(geneva) == 0
    assert speedrun(workflow.resume()).state == "finished"


def test_a_failed_node_of_a_graph_runs_again(geneva: gd.Drive) -> None:
    BROKEN.add("fraud")
    workflow = speedrun(Order.create())
    BROKEN.clear()

    workflow.reset_for_retry("fraud", actor="ann")

    assert speedrun(workflow).state == "finished"
    assert [outcome for step, _, outcome in history(workflow) if step == "fraud"] == [
        "paused_by_exception",
        "success",
    ]


def test_a_node_of_a_graph_is_taken_from_a_lost_worker_and_the_others_run_on(
    geneva: gd.Drive,
) -> None:
    workflow = Order.create()
    _held(geneva, workflow)
    expire_leases(geneva)

    workflow.reset_for_retry("fraud", actor="ann")

    assert history(workflow) == [
        ("stock", "in_progress", None),
        ("fraud", "failed", "recovered"),
        ("fraud", "scheduled", None),
    ]


def test_a_reset_node_runs_although_another_has_failed_too(geneva: gd.Drive) -> None:
    class TwiceBroken(gd.Workflow):
        @gd.task
        def stock(self) -> None:
            if self.attempt == 1:
                perform_step_inline(gd.Workflow.find(self.id), "fraud")
                raise ValueError("stock is broken")

        @gd.task
        def fraud(self) -> None:
            if self.attempt == 1:
                raise ValueError("fraud is broken")

    workflow: Handle = TwiceBroken.create()
    perform_step_inline(workflow, "stock")

    workflow.reset_for_retry("fraud", actor="ann")
    drain(geneva)

    assert [(step, state) for step, state, _ in history(workflow.reload())] == [
        ("stock", "failed"),
        ("fraud", "failed"),
        ("fraud", "completed"),
    ]
    assert (workflow.state, workflow.paused_step_name) == ("paused", "stock")


def test_a_node_of_a_dynamic_workflow_is_reset(geneva: gd.Drive) -> None:
    @gd.job(name="test_resetting.note")
    def note(*, node: Any) -> None:
        if node.name in BROKEN:
            raise ValueError("broken")

    BROKEN.add("second")
    w = gd.DynamicWorkflow()
    w.node("first", job=note)
    w.node("second", job=note)
    workflow: Handle = speedrun(w.start())
    BROKEN.clear()

    workflow.reset_for_retry("second", actor="ann")

    assert speedrun(workflow).state == "finished"


def test_a_node_of_a_dynamic_workflow_is_taken_from_a_lost_worker(geneva: gd.Drive) -> None:
    @gd.job(name="test_resetting.nothing")
    def nothing() -> None: ...

    w = gd.DynamicWorkflow()
    w.node("only", job=nothing)
    workflow: Handle = w.start()
    _held(geneva, workflow)
    expire_leases(geneva)

    workflow.reset_for_retry("only", actor="ann")

    assert history(workflow) == [("only", "failed", "recovered"), ("only", "scheduled", None)]


def test_partitions_that_failed_or_whose_worker_is_lost_are_reset_together(
    geneva: gd.Drive,
) -> None:
    class Divided(gd.Workflow):
        @gd.resumable_step(partitions=2)
        def load(self, it: gd.IterableStep) -> None:
            for item in it.iterate_over(range(6)):
                if item == 1 and "load" in BROKEN:
                    raise ValueError("broken")
                SEEN.append(item)

    BROKEN.add("load")
    workflow: Handle = Divided.create()
    perform_next_step(workflow)
    second = workflow.reload().current_executions[1]
    with crash_after(items=1):
        perform_step_inline(workflow, second.node_id)
    expire_leases(geneva)
    perform_step_inline(workflow, workflow.reload().current_executions[0].node_id)
    assert workflow.reload().paused_step_name == "load"
    BROKEN.clear()

    workflow.reset_for_retry("load", actor="ann")

    assert speedrun(workflow).state == "finished"
    assert sorted(set(SEEN)) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            "fetch",
            "Cannot reset step 'fetch': it is completed, neither failed nor canceled. To go on at "
            "a step of your choice, use `resume_at` in code or `geneva resume ID --at STEP` in the "
            "shell.",
        ),
        (
            "report",
            "Cannot reset step 'report': it has not been reached, neither failed nor canceled. To "
            "go on at a step of your choice, use `resume_at` in code or `geneva resume ID --at "
            "STEP` in the shell.",
        ),
    ],
    ids=["completed", "not reached"],
)
def test_only_a_failed_step_is_reset(geneva: gd.Drive, step: str, message: str) -> None:
    workflow = _failed_import()

    assert _refusal(lambda: workflow.reset_for_retry(step, actor="ann")) == message
    assert workflow.reload().state == "paused"


def test_a_step_that_the_class_does_not_have_is_refused(geneva: gd.Drive) -> None:
    workflow = Import.create()

    assert _refusal(lambda: workflow.reset_for_retry("pack", actor="ann"), StepNotDefined) == (
        "Workflow 'test_resetting.Import' has no step 'pack'. Its steps are: fetch, load, report."
    )


def test_a_step_of_an_ended_workflow_is_not_reset(geneva: gd.Drive) -> None:
    workflow = Import.create().cancel()

    assert _refusal(lambda: workflow.reset_for_retry("fetch", actor="ann")) == (
        "Cannot reset a step of a canceled workflow."
    )


@pytest.mark.parametrize("actor", [None, ""], ids=["none", "empty"])
def test_a_reset_needs_an_actor(geneva: gd.Drive, actor: str | None) -> None:
    workflow = _failed_import()

    assert _refusal(lambda: workflow.reset_for_retry("load", actor=actor), InvalidInput) == (
        "reset_for_retry() needs actor=..., the person or program that does it; in the shell, "
        "--actor NAME."
    )


def test_flags_must_be_booleans(geneva: gd.Drive) -> None:
    workflow, some = Import.create(), ["reset_checkpoint", "force"]

    refusals = [
        _refusal(lambda: workflow.reset_for_retry("load", actor="ann", **{name: 1}), InvalidInput)  # type: ignore[arg-type]  # noqa: B023 - called at once
        for name in some
    ]

    assert refusals == [
        "reset_for_retry(reset_checkpoint=...) must be True or False, got 1.",
        "reset_for_retry(force=...) must be True or False, got 1.",
    ]


def test_a_suspended_loop_needs_no_reset(geneva: gd.Drive) -> None:
    workflow = Import.create()
    perform_next_step(workflow)
    run_iterations(workflow, "load", count=2)

    assert _refusal(lambda: workflow.reset_for_retry("load", actor="ann")) == (
        "Cannot reset step 'load': it is suspended, neither failed nor canceled. To go on at a "
        "step of your choice, use `resume_at` in code or `geneva resume ID --at STEP` in the shell."
    )
