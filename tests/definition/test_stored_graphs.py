from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

import geneva_drive as gd
from geneva_drive.definition.dynamic.stored_graph import StoredGraph
from geneva_drive.definition.dynamic.stored_node import StoredArgs, StoredNode
from geneva_drive.errors import Fault, MissingJob, StepConfigurationError, UnknownStoredType

NOW = datetime(2024, 1, 15, 10, 30, tzinfo=UTC)

TEXT = """
{
  "version": 1,
  "signature": "a7f3b2c1",
  "frozen_at": "2024-01-15T10:30:00Z",
  "nodes": {
    "n_8f3a2b": {
      "name": "validate",
      "job": "ValidateOrderJob",
      "args": { "order_id": 123 },
      "depends_on": []
    },
    "n_c4d5e6": {
      "name": "check_inventory",
      "job": "CheckInventoryJob",
      "args": {},
      "depends_on": ["n_8f3a2b"]
    }
  }
}
"""

CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


class Size(Enum):
    SMALL = "S"


def document(**nodes: dict[str, Any]) -> dict[str, Any]:
    return {"version": 1, "frozen_at": "2024-01-15T10:30:00Z", "nodes": nodes}


def node(name: str, *depends_on: str, **others: Any) -> dict[str, Any]:
    return {"name": name, "job": "a.job", "depends_on": list(depends_on), **others}


def faults_of(given: Any) -> list[tuple[str, str]]:
    with pytest.raises(StepConfigurationError) as caught:
        StoredGraph.parse(given)
    return [(fault.path, fault.message) for fault in caught.value.faults]


def test_a_document_gives_its_nodes_in_order() -> None:
    graph = StoredGraph.parse(TEXT)

    assert list(graph.nodes.values()) == [
        StoredNode("n_8f3a2b", "validate", "ValidateOrderJob", {"order_id": 123}, ()),
        StoredNode("n_c4d5e6", "check_inventory", "CheckInventoryJob", {}, ("n_8f3a2b",)),
    ]
    assert list(graph.nodes) == ["n_8f3a2b", "n_c4d5e6"]
    assert graph.frozen_at == NOW
    assert graph.version == 1


def test_a_document_is_written_as_it_was_read_but_for_its_signature() -> None:
    read = json.loads(TEXT)

    written = StoredGraph.parse(TEXT).to_dag()

    assert written == {**read, "signature": StoredGraph.parse(read).signature}
    assert list(written) == ["version", "signature", "frozen_at", "nodes"]
    assert list(written["nodes"]["n_8f3a2b"]) == ["name", "job", "args", "depends_on"]
    assert StoredGraph.parse(json.dumps(written)) == StoredGraph.parse(read)


def test_the_signature_stands_for_ids_and_dependencies() -> None:
    graph = StoredGraph.parse(TEXT)
    edited = json.loads(TEXT)
    edited["signature"] = "another"
    edited["nodes"]["n_8f3a2b"]["name"] = "validate_order"

    assert graph.signature == ("a82cd51850261ed3207a55d4908abd60be26c3c79e99b42523940a1d9365f018")
    assert StoredGraph.parse(edited).signature == graph.signature
    edited["nodes"]["n_c4d5e6"]["depends_on"] = []
    assert StoredGraph.parse(edited).signature != graph.signature


def test_a_node_without_a_job_has_neither_job_nor_args() -> None:
    given = document(validate={"name": "validate", "depends_on": []})

    graph = StoredGraph.parse(given)

    assert graph.nodes["validate"].job is None
    assert dict(graph.nodes["validate"].args) == {}
    assert graph.to_dag()["nodes"] == {"validate": {"name": "validate", "depends_on": []}}


def test_what_a_builder_freezes_is_data_only() -> None:
    w = gd.DynamicWorkflow()
    a = w.node("a", job="job.a", args={"order": UUID(int=7), "sizes": [Size.SMALL], "n": 1})
    b = w.node("b", job="job.b")

    dag = json.loads(json.dumps(w.freeze(NOW).to_dag()))

    assert dag["frozen_at"] == "2024-01-15T10:30:00Z"
    assert dag["nodes"] == {
        a: {
            "name": "a",
            "job": "job.a",
            "args": {
                "order": {"$type": "uuid", "value": "00000000-0000-0000-0000-000000000007"},
                "sizes": [{"$type": "enum", "value": [f"{__name__}:Size", "S"]}],
                "n": 1,
            },
            "depends_on": [],
        },
        b: {"name": "b", "job": "job.b", "args": {}, "depends_on": [a]},
    }


def test_arguments_come_back_with_their_types() -> None:
    args = {
        "id": UUID(int=7),
        "total": Decimal("1.50"),
        "at": NOW,
        "day": date(2024, 1, 15),
        "wait": timedelta(minutes=5),
        "pair": (1, 2),
        "size": Size.SMALL,
        "ratio": float("inf"),
        "large": 2**80,
        "$type": "text",
        "nested": {"by": {1: b"one"}},
    }
    w = gd.DynamicWorkflow()
    node_id = w.node("a", job="job.a", args=args)

    parsed = StoredGraph.parse(json.dumps(w.freeze(NOW).to_dag()))

    assert dict(parsed.nodes[node_id].args) == args


def test_what_was_written_cannot_change_the_graph() -> None:
    given = document(n_1=node("a", args={"flat": 1, "lines": [1]}))
    graph = StoredGraph.parse(given)

    given["nodes"]["n_1"]["args"]["lines"].append(2)
    graph.to_dag()["nodes"]["n_1"]["args"]["lines"].append(3)
    graph.to_dag()["nodes"]["n_1"]["args"]["flat"] = 2

    assert graph.to_dag()["nodes"]["n_1"]["args"] == {"flat": 1, "lines": [1]}


def test_a_graph_is_read_where_a_type_of_its_arguments_is_unknown() -> None:
    args = {"share": {"$type": "tests.unheard_of", "value": [1, 3]}}
    given = document(n_1=node("a", args=args), n_2=node("b", "n_1", args={"n": 1}))

    graph = StoredGraph.parse(given)

    assert graph.to_dag()["nodes"]["n_1"]["args"] == args
    assert dict(graph.nodes["n_2"].args) == {"n": 1}
    with pytest.raises(UnknownStoredType):
        dict(graph.nodes["n_1"].args)


def test_a_moment_in_another_zone_is_written_in_utc() -> None:
    given = {**document(), "frozen_at": "2024-01-15T12:30:00.000250+02:00"}

    graph = StoredGraph.parse(given)

    assert graph.frozen_at.tzinfo is UTC
    assert graph.to_dag()["frozen_at"] == "2024-01-15T10:30:00.000250Z"
    eastern = datetime(2024, 1, 15, 12, 30, tzinfo=timezone(timedelta(hours=2)))
    assert StoredGraph.freeze({}, eastern).to_dag()["frozen_at"] == "2024-01-15T10:30:00Z"


def test_nodes_may_stand_in_any_order() -> None:
    graph = StoredGraph.parse(document(n_2=node("b", "n_1"), n_1=node("a")))

    assert list(graph.nodes) == ["n_2", "n_1"]


FAULTS: Mapping[str, tuple[Any, list[tuple[str, str]]]] = {
    "no JSON": (
        '{"version": 1,',
        [
            (
                "$",
                "The text is not JSON: Expecting property name enclosed in double quotes: line 1 "
                "column 15 (char 14).",
            )
        ],
    ),
    "NaN": ('{"version": NaN}', [("$", "The text is not JSON: there is no NaN in it.")]),
    "too deep": ("[" * 100_000, [("$", "The text is nested too deeply.")]),
    "a list": ("[]", [("$", "A stored graph is a JSON object, not a list.")]),
    "nothing": (None, [("$", "A stored graph is a JSON object, not null.")]),
    "an id that stands twice": (
        json.dumps(document(n_1=node("a"), n_2=node("b"))).replace("n_2", "n_1"),
        [("$", "The key 'n_1' appears twice in one object.")],
    ),
    "an empty object": (
        {},
        [
            ("$.version", "The version is 1, not None."),
            ("$.nodes", "The nodes are a JSON object by their ids, not null."),
            (
                "$.frozen_at",
                "frozen_at is a moment with its zone, such as '2024-01-15T10:30:00Z', not None.",
            ),
        ],
    ),
    "another version": (
        {**document(), "version": 2},
        [("$.version", "The version is 1, not 2.")],
    ),
    "a version of True": (
        {**document(), "version": True},
        [("$.version", "The version is 1, not True.")],
    ),
    "a signature of a number": (
        {**document(), "signature": 7},
        [("$.signature", "A signature is text, not 7.")],
    ),
    "a naive moment": (
        {**document(), "frozen_at": "2024-01-15T10:30:00"},
        [
            (
                "$.frozen_at",
                "frozen_at is a moment with its zone, such as '2024-01-15T10:30:00Z', not "
                "'2024-01-15T10:30:00'.",
            )
        ],
    ),
    "an unknown key": (
        {**document(), "state": {}},
        [
            (
                "$.state",
                "There is no key 'state' here. The keys are: frozen_at, nodes, signature, version.",
            )
        ],
    ),
    "nodes in a list": (
        {**document(), "nodes": [1]},
        [("$.nodes", "The nodes are a JSON object by their ids, not a list.")],
    ),
    "an empty id": (
        document(**{"": node("a")}),
        [("$.nodes['']", "A node's id must not be empty.")],
    ),
    "a node of text": (
        document(n_1="a"),  # type: ignore[arg-type]  # that is the fault
        [("$.nodes.n_1", "A node is a JSON object, not 'a'.")],
    ),
    "a node without anything": (
        document(n_1={}),
        [
            ("$.nodes.n_1.name", "A node's name must be text, got None."),
            (
                "$.nodes.n_1.depends_on",
                "depends_on is a list of ids, [] for an entry point, not null.",
            ),
        ],
    ),
    "an unknown key of a node": (
        document(n_1=node("a", state="done")),
        [
            (
                "$.nodes.n_1.state",
                "There is no key 'state' here. The keys are: args, checkpoint_interval, "
                "depends_on, job, keep_result, name, part.",
            )
        ],
    ),
    "a result that is neither kept nor not": (
        document(n_1=node("a", keep_result="yes")),
        [("$.nodes.n_1.keep_result", "keep_result is true or false, not 'yes'.")],
    ),
    "a result of no job": (
        document(n_1={"name": "a", "depends_on": [], "keep_result": True}),
        [("$.nodes.n_1.keep_result", "A node without a job has no result to keep.")],
    ),
    "a name that is taken": (
        document(n_1=node("a"), n_2=node("a")),
        [("$.nodes.n_2.name", "'a' is the name of node 'n_1' as well.")],
    ),
    "a name that is an id": (
        document(n_1=node("n_2"), n_2=node("b")),
        [("$.nodes.n_1.name", "'n_2' is the id of another node.")],
    ),
    "a job of null": (
        document(n_1=node("a", job=None)),
        [
            (
                "$.nodes.n_1.job",
                "A job's name must be text, got None. Leave job out of a node without one.",
            )
        ],
    ),
    "args in a list": (
        document(n_1=node("a", args=[])),
        [("$.nodes.n_1.args", "args is a JSON object, not a list.")],
    ),
    "args without a job": (
        document(n_1={"name": "a", "args": {"x": 1}, "depends_on": []}),
        [("$.nodes.n_1.args", "A node without a job takes no args.")],
    ),
    "args that are no JSON": (
        document(n_1=node("a", args={"x": UUID(int=7)})),
        [
            (
                "$.nodes.n_1.args",
                "The args are not in the form that is stored: Object of type UUID is not JSON "
                "serializable.",
            )
        ],
    ),
    "args that lie about their type": (
        document(n_1=node("a", args={"x": {"$type": "date", "value": "soon"}})),
        [
            (
                "$.nodes.n_1.args",
                "The args are not in the form that is stored: Invalid isoformat string: 'soon'.",
            )
        ],
    ),
    "args that are something else": (
        document(n_1=node("a", args={"$type": "date", "value": "2024-01-15"})),
        [
            (
                "$.nodes.n_1.args",
                "The args are not in the form that is stored: they are not a dictionary with "
                "text as keys.",
            )
        ],
    ),
    "args that contain themselves": (
        document(n_1=node("a", args={"x": CIRCLE})),
        [
            (
                "$.nodes.n_1.args",
                "The args are not in the form that is stored: Circular reference detected.",
            )
        ],
    ),
    "dependencies that are no list": (
        document(n_1=node("a", depends_on="n_1")),
        [
            (
                "$.nodes.n_1.depends_on",
                "depends_on is a list of ids, [] for an entry point, not 'n_1'.",
            )
        ],
    ),
    "dependencies of all kinds": (
        document(
            n_1=node("a"), n_2=node("b", depends_on=["n_1", "n_3", "n_1", "n_2", {}, "a", None])
        ),
        [
            ("$.nodes.n_2.depends_on[1]", "There is no node with the id 'n_3'."),
            ("$.nodes.n_2.depends_on[2]", "'n_1' appears twice in this list."),
            ("$.nodes.n_2.depends_on[3]", "The node 'n_2' cannot depend on itself."),
            ("$.nodes.n_2.depends_on[4]", "There is no node with the id {}."),
            (
                "$.nodes.n_2.depends_on[5]",
                "There is no node with the id 'a': that is the name of 'n_1'.",
            ),
            ("$.nodes.n_2.depends_on[6]", "There is no node with the id None."),
        ],
    ),
    "a cycle": (
        document(n_1=node("a", "n_3"), n_2=node("b", "n_1"), n_3=node("c", "n_2")),
        [
            (
                "$.nodes.n_1.depends_on",
                "Nodes wait for each other: n_1 -> n_2 -> n_3 -> n_1. Remove one of these "
                "dependencies.",
            )
        ],
    ),
    "an id with a dot": (
        document(**{"a.b": {"name": "a", "depends_on": {}}}),
        [
            (
                "$.nodes['a.b'].depends_on",
                "depends_on is a list of ids, [] for an entry point, not an object.",
            )
        ],
    ),
    "a cycle beside another fault": (
        document(n_1=node("a", "n_2"), n_2=node("b", "n_1", "n_0"), n_0=7),  # type: ignore[arg-type]  # that is the fault
        [
            ("$.nodes.n_0", "A node is a JSON object, not 7."),
            (
                "$.nodes.n_1.depends_on",
                "Nodes wait for each other: n_1 -> n_2 -> n_1. Remove one of these dependencies.",
            ),
        ],
    ),
}


@pytest.mark.parametrize(("given", "faults"), FAULTS.values(), ids=FAULTS)
def test_every_fault_of_a_document_is_told(given: Any, faults: list[tuple[str, str]]) -> None:
    assert faults_of(given) == faults


def test_the_error_tells_the_faults_and_where_they_are() -> None:
    with pytest.raises(StepConfigurationError) as caught:
        StoredGraph.parse({**document(n_1=node("a", "n_2")), "version": 2})

    assert str(caught.value) == (
        "The stored graph has faults. $.version: The version is 1, not 2. "
        "$.nodes.n_1.depends_on[0]: There is no node with the id 'n_2'."
    )
    assert caught.value.faults == (
        Fault("$.version", "The version is 1, not 2."),
        Fault("$.nodes.n_1.depends_on[0]", "There is no node with the id 'n_2'."),
    )


def test_the_error_of_a_wholly_wrong_document_stays_readable() -> None:
    with pytest.raises(StepConfigurationError) as caught:
        StoredGraph.parse(document(n_1=node("a", *["n_0"] * 50)))

    assert len(caught.value.faults) == 50
    assert str(caught.value).endswith(
        "$.nodes.n_1.depends_on[19]: There is no node with the id 'n_0'. And 30 more."
    )


def test_a_class_that_is_refused_has_no_faults_of_a_document() -> None:
    assert StepConfigurationError("It is wrong.").faults == ()


def test_arguments_that_are_not_stored_yet_are_written_as_if_they_were() -> None:
    of_class = {"charge": StoredNode("charge", "charge", "shop.charge", {"day": date(2024, 1, 15)})}

    dag = StoredGraph.freeze(of_class, NOW).to_dag()

    assert dag["nodes"]["charge"]["args"] == {"day": {"$type": "date", "value": "2024-01-15"}}
    assert dag["nodes"]["charge"]["depends_on"] == []


def test_stored_arguments_show_what_is_stored() -> None:
    assert repr(StoredArgs('{"n":1}')) == '<stored args {"n":1}>'


def test_a_missing_job_is_told_with_the_ways_out() -> None:
    error = MissingJob(
        workflow_id=124,
        node_name="validate",
        node_id="n_8f3a2b",
        job="shop.validate_order",
        frozen_at=NOW,
    )

    assert str(error) == (
        "Workflow 124 needs the job 'shop.validate_order' for its node 'validate' (n_8f3a2b), and "
        "nothing imported in this process defines it. Its graph was frozen at "
        "2024-01-15T10:30:00+00:00, and new code does not change it. Restore the job (import the "
        "module that defines it in the worker's --app) and resume; or cancel this workflow and "
        "create a new one; or, as a last resort, edit the graph with export_dag() and "
        "import_dag()."
    )
    assert (error.workflow_id, error.node_name, error.node_id) == (124, "validate", "n_8f3a2b")
    assert (error.job, error.frozen_at) == ("shop.validate_order", NOW)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.uuids()
    | st.decimals(allow_nan=False)
    | st.datetimes(timezones=st.just(UTC))
    | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text() | st.integers() | st.just("$type"), inner, max_size=3)
    ),
    max_leaves=6,
)
NODES = st.lists(
    st.tuples(
        st.dictionaries(st.text() | st.just("$type"), VALUES, max_size=3),
        st.sets(st.integers(0, 7), max_size=3),
    ),
    max_size=8,
)


@given(NODES)
def test_whatever_is_built_comes_back_from_its_text(
    planned: list[tuple[dict[str, Any], set[int]]],
) -> None:
    w = gd.DynamicWorkflow()
    ids: list[str] = []
    for place, (args, parents) in enumerate(planned):
        depends_on = [ids[parent] for parent in parents if parent < place]
        ids.append(w.node(f"node_{place}", job="a.job", args=args, depends_on=depends_on))
    frozen = w.freeze(NOW)

    back = StoredGraph.parse(json.dumps(frozen.to_dag()))

    assert back == frozen
    assert back.signature == frozen.signature
    assert [dict(back.nodes[node_id].args) for node_id in ids] == [args for args, _ in planned]
