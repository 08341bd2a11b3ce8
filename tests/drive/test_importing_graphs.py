"""Stored graphs taken out, repaired and put back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_step_inline, speedrun
from tests.looking import history

Handle = gd.WorkflowHandle[Any]

called: list[str] = []


@pytest.fixture(autouse=True)
def _none_called() -> None:
    called.clear()


@gd.job
def note(*, node: Any) -> None:
    called.append(node.name)


def _held() -> Handle:
    """first -> second (its job is misspelt) -> third, held by its second node."""
    w = gd.DynamicWorkflow()
    w.node("first", job=note)
    w.node("second", job=f"{__name__}.noet")
    w.node("third", job=note)
    workflow = w.start()
    drain()
    assert workflow.reload().state == "paused"
    return workflow


def _ids(workflow: Handle) -> dict[str, str]:
    return {node["name"]: node_id for node_id, node in workflow.dag["nodes"].items()}


def test_a_misspelt_job_is_repaired_in_the_text(geneva: gd.Drive) -> None:
    workflow = _held()
    before = workflow.dag["signature"]

    text = workflow.export_dag().replace("noet", "note")
    workflow.import_dag(text, actor="ann", reason="misspelt")
    assert workflow.state == "paused"
    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert called == ["first", "second", "third"]
    assert workflow.dag["signature"] == before
    entry = workflow.audit_entries[0]
    assert (entry.command, entry.actor, entry.reason) == ("import_dag", "ann", "misspelt")
    assert workflow.verify_ancestry() == []


def test_what_is_exported_is_what_is_stored(geneva: gd.Drive) -> None:
    workflow = _held()

    assert json.loads(workflow.export_dag()) == workflow.dag_definition


def test_importing_what_was_exported_changes_nothing(geneva: gd.Drive) -> None:
    workflow = _held()
    before = workflow.dag_definition

    workflow.import_dag(workflow.export_dag())

    assert workflow.dag_definition == before
    assert workflow.progress().done == 1
    assert history(workflow)[1:] == [("second", "failed", "paused_by_exception")]


def test_a_node_is_added_behind_what_is_done_and_runs(geneva: gd.Drive) -> None:
    workflow = _held()
    dag = workflow.dag
    ids = _ids(workflow)
    dag["nodes"]["n_0000000a"] = {
        "name": "extra",
        "job": f"{__name__}.note",
        "args": {},
        "depends_on": [ids["first"]],
    }
    dag["nodes"][ids["second"]]["job"] = f"{__name__}.note"

    workflow.import_dag(dag)
    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert sorted(called) == ["extra", "first", "second", "third"]
    assert workflow.dag["signature"] != dag["signature"]
    assert workflow.verify_ancestry() == []


def test_a_node_that_failed_may_be_taken_out_and_the_rest_goes_on(geneva: gd.Drive) -> None:
    workflow = _held()
    dag = workflow.dag
    ids = _ids(workflow)
    del dag["nodes"][ids["second"]]
    dag["nodes"][ids["third"]]["depends_on"] = [ids["first"]]

    workflow.import_dag(dag)
    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert called == ["first", "third"]
    assert workflow.progress().total == 2


def test_a_scheduled_node_that_is_taken_out_is_canceled(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.node("first", job=note)
    extra = w.node("extra", job=note, depends_on=None)
    workflow = w.start()
    dag = workflow.dag
    del dag["nodes"][extra]

    workflow.import_dag(dag)
    drain()

    assert workflow.reload().state == "finished"
    assert history(workflow) == [
        ("first", "completed", "success"),
        ("extra", "canceled", "canceled_by_operator"),
    ]


def test_where_nothing_is_left_to_do_the_workflow_is_finished(geneva: gd.Drive) -> None:
    workflow = _held()
    dag = workflow.dag
    ids = _ids(workflow)
    del dag["nodes"][ids["second"]], dag["nodes"][ids["third"]]

    workflow.import_dag(dag)

    assert workflow.state == "finished"
    assert (workflow.paused_reason, workflow.paused_step_name) == (None, None)


def test_what_is_done_must_stay_under_its_id(geneva: gd.Drive) -> None:
    workflow = _held()
    dag = workflow.dag
    first = _ids(workflow)["first"]
    text = json.dumps(dag).replace(first, "n_0000000b")

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        workflow.import_dag(text)

    assert str(refusal.value) == (
        f"Node 'first' ({first}) is done, but the new graph does not have it. "
        f"Keep each done node under its id."
    )
    assert workflow.dag_definition == dag
    assert workflow.audit_entries == []


def test_what_was_tried_is_not_made_to_wait_for_what_is_not_done(geneva: gd.Drive) -> None:
    workflow = _held()
    dag = workflow.dag
    second = _ids(workflow)["second"]
    dag["nodes"]["n_0000000a"] = {"name": "extra", "depends_on": []}
    dag["nodes"][second]["depends_on"].append("n_0000000a")

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        workflow.import_dag(dag)

    assert str(refusal.value) == (
        f"Node 'second' ({second}) is failed and cannot depend on 'extra', which is not done."
    )


def _add_cycle(dag: dict[str, Any]) -> None:
    [_, second, third] = dag["nodes"]
    dag["nodes"][second]["depends_on"] = [third]


def _add_stranger(dag: dict[str, Any]) -> None:
    dag["nodes"][list(dag["nodes"])[2]]["depends_on"] = ["n_ffffffff"]


def _take_names(dag: dict[str, Any]) -> None:
    del dag["nodes"][list(dag["nodes"])[2]]["name"]


@pytest.mark.parametrize("spoil", [_add_cycle, _add_stranger, _take_names])
def test_a_document_with_faults_is_refused_as_a_whole(
    geneva: gd.Drive, spoil: Callable[[dict[str, Any]], None]
) -> None:
    workflow = _held()
    dag = workflow.dag
    before = workflow.dag
    spoil(dag)

    with pytest.raises(gd.errors.StepConfigurationError):
        workflow.import_dag(dag)

    assert workflow.dag_definition == before
    assert workflow.reload().audit_entries == []


def test_text_that_is_no_json_is_refused(geneva: gd.Drive) -> None:
    workflow = _held()

    with pytest.raises(gd.errors.StepConfigurationError):
        workflow.import_dag("{nodes: first}")


def test_nothing_is_imported_while_a_node_runs(geneva: gd.Drive) -> None:
    said: list[str] = []

    @gd.job(name="importing.own")
    def import_own(*, workflow: Any) -> None:
        handle = gd.Workflow.find(workflow.id)
        with pytest.raises(gd.errors.InvalidStateError) as refusal:
            handle.import_dag(handle.export_dag())
        said.append(str(refusal.value))

    w = gd.DynamicWorkflow()
    w.node("only", job=import_own)
    workflow = w.start()

    perform_step_inline(workflow, "only")

    assert said == [
        "Cannot import a graph into a performing workflow. Pause it, and import when the running "
        "nodes have ended."
    ]


def test_nothing_is_imported_into_what_is_over(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.node("only", job=note)
    workflow = w.start()
    drain()

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        workflow.import_dag(workflow.export_dag())

    assert str(refusal.value) == "Cannot import a graph into a finished workflow."


def test_a_class_has_to_be_frozen_before_its_graph_is_exchanged(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    workflow = Order.create()

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        workflow.import_dag(workflow.export_dag())

    assert str(refusal.value) == (
        "This workflow follows the graph of its class and has no stored graph to replace. "
        "Store one with freeze_dag() first."
    )


def test_a_graph_with_arguments_that_are_too_large_is_refused(geneva: gd.Drive) -> None:
    workflow = _held()
    dag = workflow.dag
    dag["nodes"][_ids(workflow)["third"]]["args"] = {"text": "x" * 2000}
    drive = gd.Drive(geneva.engine, max_payload_size=20)

    with pytest.raises(gd.errors.PayloadTooLarge) as refusal:
        gd.Workflow.using(drive).find(workflow.id).import_dag(dag)

    assert str(refusal.value) == (
        "The payload of node 'third', its args, is 2,011 bytes as JSON; the limit is 20 bytes. "
        "Store the data elsewhere and keep its key, or raise the setting max_payload_size."
    )
    assert workflow.dag_definition != dag
    assert workflow.audit_entries == []


def _renamed(workflow: Handle, **changes: Any) -> Handle:
    """Give the second node another name."""
    dag = workflow.dag
    dag["nodes"][_ids(workflow)["second"]] |= {"name": "other", **changes}
    return workflow.import_dag(dag)


@pytest.mark.parametrize(
    ("command", "last"),
    [
        (lambda w: w.resume(), ("other", "completed", "success")),
        (lambda w: w.reattempt("other"), ("other", "completed", "success")),
        (lambda w: w.skip("other"), ("other", "skipped", "skipped_by_operator")),
    ],
    ids=["resume", "reattempt", "skip"],
)
def test_a_node_that_was_renamed_has_its_new_name_in_further_attempts(
    geneva: gd.Drive, command: Callable[[Handle], object], last: Any
) -> None:
    workflow = _renamed(_held(), job=f"{__name__}.note")
    assert workflow.paused_step_name == "other"
    assert "'other'" in workflow.why()

    command(workflow)
    drain()

    assert workflow.reload().state == "finished"
    assert history(workflow) == [
        ("first", "completed", "success"),
        ("second", "failed", "paused_by_exception"),
        last,
        ("third", "completed", "success"),
    ]
    assert [e.attempt_number for e in workflow.step_executions] == [1, 1, 2, 1]
    assert workflow.verify_ancestry() == []


def test_a_scheduled_node_that_was_renamed_has_its_new_name_once_it_is_tried_again(
    geneva: gd.Drive,
) -> None:
    @gd.job(name="fragile", retry=gd.Retry(max=1))
    def fragile(*, node: Any) -> None:
        called.append(node.name)
        if len(called) == 1:
            raise ValueError("torn")

    w = gd.DynamicWorkflow()
    w.node("second", job=fragile)
    workflow = _renamed(w.start())

    speedrun(workflow)

    assert history(workflow) == [
        ("second", "failed", "reattempted_by_exception"),
        ("other", "completed", "success"),
    ]
    assert called == ["other", "other"]


def test_a_step_of_a_class_is_known_by_its_id_whatever_name_a_graph_gives_it(
    geneva: gd.Drive,
) -> None:
    class Order(gd.Workflow):
        @gd.step
        def charge(self) -> None:
            called.append("charge")
            if len(called) < 3:
                raise ValueError("declined")

    workflow = Order.create().freeze_dag()
    drain()
    dag = workflow.dag
    dag["nodes"]["charge"]["name"] = "renamed"

    workflow.reload().import_dag(dag)
    assert workflow.paused_step_name == "charge"
    workflow.resume()
    drain()
    workflow.reload().resume()
    drain()

    assert workflow.reload().state == "finished"
    assert [e.step_name for e in workflow.step_executions] == ["charge"] * 3
