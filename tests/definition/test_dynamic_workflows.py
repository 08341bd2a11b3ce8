from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

import geneva_drive as gd
from geneva_drive.definition.dynamic import jobs
from geneva_drive.definition.dynamic.node_arguments import CHILD_JOB
from geneva_drive.errors import InvalidInput, InvalidStateError

NOW = datetime(2024, 1, 15, 10, 30, tzinfo=UTC)


with jobs.isolated():

    @gd.job
    def process_mutation(mutation_id: int, *, workflow: object, node: object) -> None: ...

    @gd.job(name="ledger.aggregate")
    def aggregate(user_id: int) -> None: ...


def a_plain_function() -> None: ...


def parents(w: gd.DynamicWorkflow, name: str) -> list[str]:
    """The names of what a node depends on."""
    [node] = [node for node in w.nodes.values() if node.name == name]
    return [w.nodes[parent].name for parent in node.depends_on]


def names(w: gd.DynamicWorkflow) -> list[str]:
    return [node.name for node in w.nodes.values()]


class Recorder:
    """Stands where the Drive will: keeps what it was asked to start."""

    def __init__(self) -> None:
        self.started: list[tuple[gd.DynamicWorkflow, object]] = []

    def start_dynamic(self, w: gd.DynamicWorkflow, *, session: object) -> str:
        self.started.append((w, session))
        return "the handle"


def started() -> gd.DynamicWorkflow:
    drive: Any = Recorder()
    w = gd.DynamicWorkflow(drive=drive)
    w.node("a", job="job.a")
    w.start()
    return w


def test_nodes_depend_on_what_their_author_says_and_else_on_what_came_before() -> None:
    w = gd.DynamicWorkflow()
    w.node("a", job="job.a")
    w.node("b", job="job.b")
    w.node("c", job="job.c", depends_on=None)
    w.node("d", job="job.d", depends_on="a")
    w.node("e", job="job.e", depends_on=["c", "d"])

    assert parents(w, "a") == []
    assert parents(w, "b") == ["a"]
    assert parents(w, "c") == []
    assert parents(w, "d") == ["a"]
    assert parents(w, "e") == ["c", "d"]


def test_a_node_after_an_entry_point_depends_on_that_one() -> None:
    w = gd.DynamicWorkflow()
    w.node("a", job="job.a")
    w.node("b", job="job.b", depends_on=[])
    w.node("c", job="job.c")

    assert parents(w, "b") == []
    assert parents(w, "c") == ["b"]


def test_dependencies_are_named_by_id_or_name_and_count_once() -> None:
    w = gd.DynamicWorkflow()
    a = w.node("a", job="job.a")
    b = w.node("b", job="job.b")

    c = w.node("c", job="job.c", depends_on=[b, "a", a, "b"])

    assert w.nodes[c].depends_on == (b, a)


def test_two_hundred_mutations_run_at_once_before_the_aggregate_and_the_notice() -> None:
    w = gd.DynamicWorkflow()
    mutations = w.fan_out(
        range(1, 201),
        name=lambda mutation_id: f"mutation_{mutation_id}",
        job=process_mutation,
        args=lambda mutation_id: {"mutation_id": mutation_id},
        depends_on=None,
    )
    joined = w.node("aggregate", job=aggregate, args={"user_id": 1}, depends_on=mutations)
    w.node("notify", job="ledger.notify", args={"user_id": 1})

    assert len(mutations) == len(set(mutations)) == 200
    assert {w.nodes[mutation].depends_on for mutation in mutations} == {()}
    assert dict(w.nodes[mutations[199]].args) == {"mutation_id": 200}
    assert w.nodes[mutations[0]].job == f"{__name__}.process_mutation"
    assert w.nodes[joined].depends_on == tuple(mutations)
    assert w.nodes[joined].job == "ledger.aggregate"
    assert parents(w, "notify") == ["aggregate"]


def test_a_node_after_a_fan_out_depends_on_all_of_it() -> None:
    w = gd.DynamicWorkflow()
    w.node("validate", job="job.validate")
    w.fan_out("xy", name="check_{}", job="job.check")
    w.node("charge", job="job.charge")

    assert parents(w, "check_x") == ["validate"]
    assert parents(w, "check_y") == ["validate"]
    assert parents(w, "charge") == ["check_x", "check_y"]


def test_a_fan_out_over_nothing_does_not_break_the_chain() -> None:
    w = gd.DynamicWorkflow()
    w.node("validate", job="job.validate")

    checks = w.fan_out([], name="check_{}", job="job.check")
    w.node("charge", job="job.charge")
    w.node("apart", job="job.apart", depends_on=checks)

    assert checks == []
    assert parents(w, "charge") == ["validate"]
    assert parents(w, "apart") == []


def test_what_follows_an_empty_fan_out_depends_on_what_that_named() -> None:
    w = gd.DynamicWorkflow()
    w.node("a", job="job.a")
    w.node("b", job="job.b")

    w.fan_out([], name="check_{}", job="job.check", depends_on="a")
    w.node("c", job="job.c")

    assert parents(w, "c") == ["a"]


def test_the_arguments_of_a_fan_out_may_be_the_same_for_all() -> None:
    w = gd.DynamicWorkflow()

    ids = w.fan_out([7, 8], name="item_{}", job="job.item", args={"dry_run": True})

    assert [dict(w.nodes[each].args) for each in ids] == [{"dry_run": True}] * 2


def test_a_format_may_look_into_the_item() -> None:
    w = gd.DynamicWorkflow()

    w.fan_out([SimpleNamespace(id=7)], name="item_{0.id}", job="job.item")

    assert names(w) == ["item_7"]


def test_a_refused_item_leaves_no_node_behind() -> None:
    w = gd.DynamicWorkflow()

    with pytest.raises(InvalidInput) as caught:
        w.fan_out([1, 2, 1], name="item_{}", job="job.item")

    assert str(caught.value) == (
        "fan_out names two items 'item_1'. Names are unique within a workflow; give each item "
        "its own name."
    )
    assert names(w) == []


def test_an_id_is_eight_hex_digits_and_drawn_again_if_it_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = iter(["a1b2c3d4", "a1b2c3d4", "00000001", "00000002", "00000003"])
    monkeypatch.setattr("secrets.token_hex", lambda size: next(drawn) if size == 4 else "")
    w = gd.DynamicWorkflow()

    a = w.node("a", job="job.a")
    b = w.node("n_00000002", job="job.b")
    c = w.node("c", job="job.c")

    assert (a, b, c) == ("n_a1b2c3d4", "n_00000001", "n_00000003")


def test_a_node_without_a_job_is_a_point_where_branches_meet() -> None:
    w = gd.DynamicWorkflow()
    w.fan_out("xy", name="check_{}", job="job.check")

    checked = w.node("checked")

    assert w.nodes[checked].job is None
    assert parents(w, "checked") == ["check_x", "check_y"]


def test_arguments_keep_their_types_and_are_taken_as_they_are_now() -> None:
    w = gd.DynamicWorkflow()
    lines = [Decimal("1.50")]
    order = UUID(int=7)

    node = w.node("a", job="job.a", args={"order": order, "lines": lines})
    lines.clear()

    assert dict(w.nodes[node].args) == {"order": order, "lines": [Decimal("1.50")]}


def test_a_child_workflow_is_a_node() -> None:
    class Ship(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    w = gd.DynamicWorkflow()
    w.node("charge", job="job.charge")

    ship = w.workflow("ship", Ship, hero=gd.HeroRef("Order", "7"), context={"express": True})

    assert w.nodes[ship].job == CHILD_JOB == "geneva_drive.child"
    assert dict(w.nodes[ship].args) == {
        "type": "Ship",
        "hero_type": "Order",
        "hero_id": "7",
        "context": {"express": True},
        "detached": False,
    }
    assert parents(w, "ship") == ["charge"]


def test_a_class_that_is_not_imported_is_named_by_its_type() -> None:
    w = gd.DynamicWorkflow()

    ship = w.workflow("ship", "Ship", detached=True, depends_on=None)

    assert dict(w.nodes[ship].args) == {
        "type": "Ship",
        "hero_type": None,
        "hero_id": None,
        "context": None,
        "detached": True,
    }


def test_a_childs_hero_is_named_when_the_graph_is_frozen() -> None:
    order = SimpleNamespace(id=7)
    w = gd.DynamicWorkflow()
    ship = w.workflow("ship", "Ship", hero=order)

    graph = w.freeze(
        NOW, lambda hero: gd.HeroRef("Order", str(order.id)) if hero is order else None
    )

    assert graph.nodes[ship].args["hero_type"] == "Order"
    assert graph.nodes[ship].args["hero_id"] == "7"


def test_a_childs_hero_without_a_name_is_refused_if_nobody_can_name_it() -> None:
    w = gd.DynamicWorkflow()
    w.workflow("ship", "Ship", hero=[7])

    with pytest.raises(InvalidInput) as caught:
        w.freeze(NOW)

    assert str(caught.value) == (
        "The hero of node 'ship' has no name before the workflow is started: [7]. Pass a "
        "gd.HeroRef."
    )


def test_the_frozen_graph_is_that_of_the_moment() -> None:
    w = gd.DynamicWorkflow()
    w.node("a", job="job.a")

    graph = w.freeze(NOW)
    w.node("b", job="job.b")

    assert [node.name for node in graph.nodes.values()] == ["a"]
    assert graph.frozen_at == NOW


def test_a_graph_may_be_empty() -> None:
    assert gd.DynamicWorkflow().freeze(NOW).to_dag()["nodes"] == {}


def test_the_nodes_cannot_be_changed_from_outside() -> None:
    w = gd.DynamicWorkflow()
    nodes: Any = w.nodes

    with pytest.raises(TypeError):
        nodes["n_1"] = None


def test_starting_hands_the_builder_and_the_session_to_its_drive() -> None:
    drive: Any = Recorder()
    session: Any = object()
    w = gd.DynamicWorkflow("hero", context={"a": 1}, queue="mail", priority=3, drive=drive)

    handle: Any = w.start(session)

    assert handle == "the handle"
    assert drive.started == [(w, session)]
    assert (w.hero, w.context, w.queue, w.priority) == ("hero", {"a": 1}, "mail", 3)
    assert (w.idempotency_key, w.template_name) == (None, None)


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w.node("b", job="job.b"),
        lambda w: w.fan_out([], name="b_{}", job="job.b"),
        lambda w: w.workflow("b", "Ship"),
        lambda w: w.start(),
    ],
    ids=["node", "fan_out", "workflow", "start"],
)
def test_a_started_workflow_is_frozen(change: Callable[[gd.DynamicWorkflow], object]) -> None:
    w = started()

    with pytest.raises(InvalidStateError) as caught:
        change(w)

    assert str(caught.value) == (
        "This workflow has been started; its graph is frozen. Build another gd.DynamicWorkflow, "
        "or, as a last resort, repair the stored graph with export_dag() and import_dag()."
    )
    assert names(w) == ["a"]


def test_a_workflow_that_could_not_be_started_may_be_changed_and_started_again() -> None:
    class Closed:
        def start_dynamic(self, w: gd.DynamicWorkflow, *, session: object) -> None:
            raise ConnectionError

    drive: Any = Closed()
    w = gd.DynamicWorkflow(drive=drive)
    with pytest.raises(ConnectionError):
        w.start()

    w.node("a", job="job.a")

    assert names(w) == ["a"]


REFUSED: Mapping[str, tuple[dict[str, Any], str]] = {
    "a plain function": (
        {"job": a_plain_function},
        "Node 'b': 'a_plain_function' is not a job. Decorate the function with @gd.job, so that "
        "workers find it by its name.",
    ),
    "a number as job": (
        {"job": 7},
        "Node 'b': a job is a function decorated with @gd.job, or the name of one, not 7.",
    ),
    "an empty job": (
        {"job": ""},
        "Node 'b': the name of a job must not be empty.",
    ),
    "the job of children": (
        {"job": "geneva_drive.child"},
        "Node 'b': the job 'geneva_drive.child' creates child workflows. Add them with "
        "w.workflow(name, WorkflowClass).",
    ),
    "args without a job": (
        {"args": {"a": 1}},
        "Node 'b' has args but no job to take them. Give it a job.",
    ),
    "args that are no dictionary": (
        {"job": "job.b", "args": [1]},
        "Node 'b': args is a dictionary with text as keys, not [1].",
    ),
    "args with other keys": (
        {"job": "job.b", "args": {1: 2}},
        "Node 'b': args is a dictionary with text as keys, not {1: 2}.",
    ),
    "an argument that cannot be stored": (
        {"job": "job.b", "args": {"user": {"of": object}}},
        "Node 'b': args['user']['of'] is of type type, which cannot be stored as JSON. Use text, "
        "numbers, booleans, None, lists, tuples, dictionaries, dates and times, Decimal, UUID, "
        "bytes or Enum members. For a record, store its key; for other types, call "
        "gd.register_serializer.",
    ),
    "an argument that the job does not take": (
        {"job": aggregate, "args": {"user": 7}},
        "Node 'b': job 'ledger.aggregate' is called with (user) but takes (user_id: 'int') -> "
        "'None': missing a required argument: 'user_id'.",
    ),
    "an argument that the engine gives": (
        {"job": process_mutation, "args": {"mutation_id": 7, "node": 1}},
        f"Node 'b': args has 'node', which the engine passes to job "
        f"'{__name__}.process_mutation'. Give the parameter another name.",
    ),
    "an unknown name": (
        {"job": "job.b", "depends_on": "validat"},
        "Node 'b' depends on 'validat', and no node of that id or name was added before it. Did "
        "you mean 'validate'?",
    ),
    "a name that is like no other": (
        {"job": "job.b", "depends_on": ["validate", "x"]},
        "Node 'b' depends on 'x', and no node of that id or name was added before it.",
    ),
    "itself": (
        {"job": "job.b", "depends_on": "b"},
        "Node 'b' depends on 'b', and no node of that id or name was added before it.",
    ),
    "a list in a list": (
        {"job": "job.b", "depends_on": [["validate"]]},
        "Node 'b': depends_on takes ids and names, not ['validate']. Write *ids for a list within "
        "a list.",
    ),
    "a number": (
        {"job": "job.b", "depends_on": 7},
        "Node 'b': depends_on takes an id, a name, a list of these or None, not 7.",
    ),
}


@pytest.mark.parametrize(("given", "words"), REFUSED.values(), ids=REFUSED)
def test_a_node_is_refused(given: dict[str, Any], words: str) -> None:
    w = gd.DynamicWorkflow()
    w.node("validate", job="job.validate")

    with pytest.raises(InvalidInput) as caught:
        w.node("b", **given)

    assert str(caught.value) == words
    assert names(w) == ["validate"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "A node's name must not be empty."),
        (7, "A node's name must be text, got 7."),
        (
            "a\x00",
            "A node's name must not contain NUL or lone surrogates, got 'a\\x00'.",
        ),
        (
            "validate",
            "A node named 'validate' was added already: n_00000001, with the job 'job.validate'. "
            "Names are unique within a workflow; choose another.",
        ),
        ("n_00000001", "'n_00000001' is the id of node 'validate'. Choose another name."),
    ],
    ids=["empty", "a number", "NUL", "taken", "an id"],
)
def test_a_name_is_refused(name: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda size: "00000001")
    w = gd.DynamicWorkflow()
    w.node("validate", job="job.validate")

    with pytest.raises(InvalidInput) as caught:
        w.node(name, job="job.b")

    assert str(caught.value) == words


def test_a_name_is_text_of_191_characters_at_most() -> None:
    w = gd.DynamicWorkflow()
    w.node("é" * 191)

    with pytest.raises(InvalidInput) as caught:
        w.node("é" * 192)

    assert str(caught.value) == "A node's name must be at most 191 characters long, got 192."


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "item_{x}",
            "fan_out: the name 'item_{x}' cannot be filled with 7: 'x'. Write {} where the item "
            "goes, or pass a function of the item.",
        ),
        (lambda item: item, "A node's name must be text, got 7."),
    ],
    ids=["another field", "a function that gives no text"],
)
def test_the_name_of_an_item_is_refused(name: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        gd.DynamicWorkflow().fan_out([7], name=name, job="job.item")

    assert str(caught.value) == words


def test_the_arguments_of_an_item_are_refused_by_its_name() -> None:
    with pytest.raises(InvalidInput) as caught:
        gd.DynamicWorkflow().fan_out(
            [7], name="item_{}", job=aggregate, args=lambda item: {"user": item}
        )

    assert str(caught.value) == (
        "Node 'item_7': job 'ledger.aggregate' is called with (user) but takes (user_id: 'int') "
        "-> 'None': missing a required argument: 'user_id'."
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"workflow_class": gd.Workflow},
            "Node 'ship': a child workflow is named by its class, derived from gd.Workflow, or by "
            "its type, not <class 'geneva_drive.definition.workflow.Workflow'>.",
        ),
        (
            {"workflow_class": int},
            "Node 'ship': a child workflow is named by its class, derived from gd.Workflow, or by "
            "its type, not <class 'int'>.",
        ),
        ({"detached": 1}, "Node 'ship': detached must be True or False, got 1."),
        (
            {"context": [1]},
            "Node 'ship': the context of a workflow is a JSON object: a dictionary with text as "
            "keys, not [1].",
        ),
    ],
    ids=["Workflow itself", "another class", "detached", "context"],
)
def test_a_child_workflow_is_refused(given: dict[str, Any], words: str) -> None:
    w = gd.DynamicWorkflow()

    with pytest.raises(InvalidInput) as caught:
        w.workflow("ship", **{"workflow_class": "Ship", **given})

    assert str(caught.value) == words
    assert names(w) == []


def test_the_context_of_a_child_is_refused_where_it_cannot_be_stored() -> None:
    with pytest.raises(
        InvalidInput, match=r"^Node 'ship': context\['user'\] is of type type, which"
    ):
        gd.DynamicWorkflow().workflow("ship", "Ship", context={"user": object})
