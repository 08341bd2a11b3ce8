"""Workflows whose graph is built in code, stored as data, and follows nothing else."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_step_inline
from tests.heroes import User, save
from tests.looking import error_of, history, pending_dead_letters

called: list[Any] = []


@pytest.fixture(autouse=True)
def _calls() -> None:
    called.clear()


@gd.job
def note(value: Any = None, *, node: Any) -> None:
    called.append((node.name, value))


@gd.job
async def note_later(value: Any = None, *, node: Any) -> None:
    called.append((node.name, value))


@gd.job
def look_around(*, workflow: Any, node: Any) -> None:
    called.append((workflow.id, workflow.hero.name, workflow.context["lang"], workflow.attempt))
    called.append((node.id, node.name, node.args))


@gd.job(on_exception="reattempt", max_reattempts=1)
def unsure(*, workflow: Any, node: Any) -> None:
    called.append((node.name, workflow.attempt))
    if workflow.attempt == 1:
        raise ValueError("not yet")


@gd.job
def cancel_all(*, workflow: Any) -> None:
    workflow.cancel()


def test_a_fan_out_runs_before_its_fan_in(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.node("prepare", job=note)
    mutations = w.fan_out(
        [7, 8, 9], name=lambda i: f"mutation_{i}", job=note, args=lambda i: {"value": i}
    )
    w.node("aggregate", job=note, args={"value": "sum"}, depends_on=mutations)
    w.node("notify", job=note_later)
    workflow = w.start()

    drain()

    assert workflow.reload().state == "finished"
    assert called[0] == ("prepare", None)
    assert sorted(called[1:4]) == [("mutation_7", 7), ("mutation_8", 8), ("mutation_9", 9)]
    assert called[4:] == [("aggregate", "sum"), ("notify", None)]
    assert workflow.progress().fraction == 1.0


def test_what_follows_a_fan_out_waits_for_all_of_it(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.fan_out("ab", name="item_{}", job=note)
    w.node("after", job=note)
    workflow = w.start()

    perform_step_inline(workflow, "item_b")
    assert [e.step_name for e in workflow.current_executions] == ["item_a"]
    perform_step_inline(workflow, "item_a")

    assert [e.step_name for e in workflow.reload().current_executions] == ["after"]


def test_entry_points_are_scheduled_together_in_the_order_they_were_added(
    geneva: gd.Drive,
) -> None:
    w = gd.DynamicWorkflow()
    w.node("first", job=note)
    w.node("second", job=note, depends_on=None)
    w.node("third", job=note, depends_on=[])
    w.node("last", job=note, depends_on=["first", "second", "third"])

    workflow = w.start()

    assert [e.step_name for e in workflow.current_executions] == ["first", "second", "third"]


def test_arguments_come_back_from_the_database_as_they_were(geneva: gd.Drive) -> None:
    value = {
        "decimal": Decimal("1.10"),
        "uuid": UUID("12345678-1234-5678-1234-567812345678"),
        "moment": datetime(2024, 1, 15, 10, 30, tzinfo=UTC),
        "day": date(2024, 1, 15),
        "span": timedelta(days=2),
        "pair": (1, "zwei"),
        "bytes": b"\x00\xff",
        "nested": [{"none": None, "text": "größe 🚀"}],
    }
    w = gd.DynamicWorkflow()
    w.node("typed", job=note, args={"value": value})
    w.start()

    drain()

    assert called == [("typed", value)]


def test_a_job_sees_its_workflow_and_its_node(geneva: gd.Drive, users: None) -> None:
    ann = save(geneva, User(name="Ann"))
    w = gd.DynamicWorkflow(hero=ann, context={"lang": "nl"})
    node_id = w.node("look", job=look_around)
    workflow = w.start()

    drain()

    assert called == [(workflow.id, "Ann", "nl", 1), (node_id, "look", {})]
    assert (workflow.hero_type, workflow.hero_id) == ("User", str(ann.id))


def test_a_dynamic_workflow_has_no_type(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.node("only", job=note)

    workflow = w.start()

    assert workflow.type is None
    assert gd.Workflow.find(workflow.id).type is None
    assert repr(workflow) == f"<dynamic workflow {workflow.id}: ready>"


def test_the_stored_graph_is_what_was_built_and_data_only(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    first = w.node("first", job=note, args={"value": 1})
    second = w.node("second", job="elsewhere.job")
    meet = w.node("meet", depends_on=[first, second])

    dag = w.start().dag_definition

    assert dag is not None
    assert set(dag) == {"version", "signature", "frozen_at", "nodes"}
    assert dag["version"] == 1
    assert re.fullmatch("[0-9a-f]{64}", dag["signature"])
    assert datetime.fromisoformat(dag["frozen_at"]).tzinfo is not None
    assert dag["nodes"] == {
        first: {
            "name": "first",
            "job": f"{__name__}.note",
            "args": {"value": 1},
            "depends_on": [],
        },
        second: {"name": "second", "job": "elsewhere.job", "args": {}, "depends_on": [first]},
        meet: {"name": "meet", "depends_on": [first, second]},
    }
    assert all(re.fullmatch("n_[0-9a-f]{8}", node_id) for node_id in dag["nodes"])
    assert json.loads(json.dumps(dag)) == dag


def test_class_based_workflows_store_no_graph(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    workflow = Order.create()

    assert workflow.dag_definition is None
    assert workflow.dag["nodes"] == {"only": {"name": "only", "depends_on": []}}


def test_a_started_workflow_takes_no_further_node(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.node("only", job=note)
    workflow = w.start()

    with pytest.raises(gd.errors.InvalidStateError, match="its graph is frozen"):
        w.node("another", job=note)
    with pytest.raises(gd.errors.InvalidStateError, match="its graph is frozen"):
        w.start()

    assert len(workflow.dag["nodes"]) == 1


def test_a_workflow_without_nodes_is_finished_at_once(geneva: gd.Drive) -> None:
    workflow = gd.DynamicWorkflow().start()

    assert (workflow.state, workflow.step_executions) == ("finished", [])
    assert workflow.dag["nodes"] == {}


def test_nodes_without_a_job_are_where_branches_meet(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.fan_out("ab", name=str, job=note)
    w.node("meet")
    w.node("after", job=note)
    workflow = w.start()

    drain()

    assert workflow.reload().state == "finished"
    assert history(workflow)[2:] == [
        ("meet", "completed", "success"),
        ("after", "completed", "success"),
    ]


def test_a_job_brings_its_own_policy(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.node("unsure", job=unsure)
    w.node("after", job=note)
    workflow = w.start()

    drain()

    assert workflow.reload().state == "finished"
    assert called == [("unsure", 1), ("unsure", 2), ("after", None)]
    assert [(e.step_name, e.attempt_number, e.outcome) for e in workflow.step_executions] == [
        ("unsure", 1, "reattempted_by_exception"),
        ("unsure", 2, "success"),
        ("after", 1, "success"),
    ]


def test_a_job_that_cancels_ends_what_is_scheduled_beside_it(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.node("stop", job=cancel_all)
    w.node("other", job=note, depends_on=None)
    w.node("after", job=note, depends_on=["stop", "other"])
    workflow = w.start()

    perform_step_inline(workflow, "stop")

    assert workflow.reload().state == "canceled"
    assert history(workflow) == [
        ("stop", "canceled", "canceled_by_flow_control"),
        ("other", "canceled", "canceled_by_flow_control"),
    ]


def _with_missing_job() -> tuple[gd.WorkflowHandle[Any], str]:
    w = gd.DynamicWorkflow()
    w.node("first", job=note)
    missing = w.node("second", job="shop.gone")
    w.node("third", job=note)
    workflow = w.start()
    drain()
    return workflow.reload(), missing


def test_a_job_that_is_missing_fails_its_node_and_says_the_ways_out(geneva: gd.Drive) -> None:
    workflow, missing = _with_missing_job()

    assert (workflow.state, workflow.paused_step_name) == ("paused", "second")
    assert history(workflow) == [
        ("first", "completed", "success"),
        ("second", "failed", "paused_by_exception"),
    ]
    error_class, message = error_of(workflow.step_executions[-1])
    assert error_class == "geneva_drive.errors.MissingJob"
    frozen_at = datetime.fromisoformat(workflow.dag["frozen_at"]).isoformat()
    assert message == (
        f"Workflow {workflow.id} needs the job 'shop.gone' for its node 'second' ({missing}), and "
        f"nothing imported in this process defines it. Its graph was frozen at {frozen_at}, and "
        f"new code does not change it. Restore the job (import the module that defines it in the "
        f"worker's --app) and resume; or cancel this workflow and create a new one; or, as a last "
        f"resort, edit the graph with export_dag() and import_dag()."
    )
    assert pending_dead_letters(geneva) == ["missing_job"]


def test_resume_goes_on_once_the_missing_job_is_there(geneva: gd.Drive) -> None:
    workflow, _ = _with_missing_job()

    @gd.job(name="shop.gone")
    def back_again() -> None:
        called.append("back again")

    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert called == [("first", None), "back again", ("third", None)]


def test_a_failed_node_may_be_skipped_or_reattempted_by_name_or_id(geneva: gd.Drive) -> None:
    workflow, missing = _with_missing_job()

    workflow.reattempt("second")
    drain()
    workflow.reload().skip(missing)
    drain()

    assert workflow.reload().state == "finished"
    assert [(e.attempt_number, e.outcome) for e in workflow.step_executions][1:] == [
        (1, "paused_by_exception"),
        (2, "paused_by_exception"),
        (3, "skipped_by_operator"),
        (1, "success"),
    ]


def test_a_repeated_idempotency_key_gives_the_first_workflow(geneva: gd.Drive) -> None:
    def start() -> gd.WorkflowHandle[Any]:
        w = gd.DynamicWorkflow(idempotency_key="order-7")
        w.node("only", job=note)
        return w.start()

    first, second = start(), start()
    drain()

    assert first.id == second.id
    assert called == [("only", None)]


@pytest.mark.parametrize(("commits", "found"), [(True, [("only", None)]), (False, [])])
def test_a_workflow_started_in_a_transaction_is_there_only_if_that_commits(
    geneva: gd.Drive, commits: bool, found: list[Any]
) -> None:
    w = gd.DynamicWorkflow()
    w.node("only", job=note)

    with geneva.engine.connect() as connection, connection.begin() as transaction:
        w.start(session=connection)
        transaction.commit() if commits else transaction.rollback()
    drain()

    assert called == found
    with geneva.store.reading() as connection:
        rows = connection.execute(geneva.store.tables.graph_nodes.select()).all()
    assert len(rows) == len(found)


def test_queue_and_priority_are_the_workflows_or_the_jobs(geneva: gd.Drive) -> None:
    @gd.job(name="shop.mail", queue="mail", priority=4)
    def mail() -> None: ...

    def start(**options: Any) -> list[tuple[str, int]]:
        w = gd.DynamicWorkflow(**options)
        w.node("mail", job=mail)
        w.node("note", job=note)
        workflow = w.start()
        drain()
        return [(e.queue, e.priority) for e in workflow.step_executions]

    assert start() == [("mail", 4), ("default", 0)]
    assert start(queue="slow", priority=9) == [("slow", 9), ("slow", 9)]


def test_arguments_that_are_too_large_are_refused_before_anything_is_stored(
    geneva: gd.Drive,
) -> None:
    drive = gd.Drive(geneva.engine, max_payload_size=20)
    w = gd.DynamicWorkflow(drive=drive)
    w.node("small", job="ledger.book", args={"text": "x" * 9})
    w.node("large", job="ledger.book", args={"text": "x" * 2000})

    with pytest.raises(gd.errors.PayloadTooLarge) as refusal:
        w.start()

    assert str(refusal.value) == (
        "The payload of node 'large', its args, is 2,011 bytes as JSON; the limit is 20 bytes. "
        "Store the data elsewhere and keep its key, or raise the setting max_payload_size."
    )
    assert gd.Workflow.ongoing().count() == 0


def test_arguments_of_just_the_size_that_is_allowed_are_stored(geneva: gd.Drive) -> None:
    drive = gd.Drive(geneva.engine, max_payload_size=20)
    w = gd.DynamicWorkflow(drive=drive)
    w.node("small", job="ledger.book", args={"text": "x" * 9})

    [node] = w.start().dag["nodes"].values()

    assert node["args"] == {"text": "x" * 9}


def test_the_context_of_a_child_counts_as_its_nodes_arguments(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow(drive=gd.Drive(geneva.engine, max_payload_size=200))
    w.workflow("ship", "Ship", context={"text": "x" * 200})

    with pytest.raises(gd.errors.PayloadTooLarge) as refusal:
        w.start()

    assert str(refusal.value).startswith("The payload of node 'ship', its args, is ")
