from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.options.expansion import ExpansionTerms
from geneva_drive.definition.workflow import definition_of
from geneva_drive.errors import StepConfigurationError
from tests.definition.writing import edges, options, refusal, run_file


class ToolRun(gd.Workflow):
    @gd.step
    def call(self) -> None: ...


class ToolAgent(gd.Workflow):
    @gd.step(keep_result=True)
    def plan(self) -> list[str]:
        return ["search", "read"]

    @gd.step
    def review(self) -> None: ...

    @gd.map(plan, parallelism=8, failure_strategy="continue_on_failure", queue="tools")
    def call_tool(self, item: str) -> str:
        return item

    start_tools = gd.map(
        "plan", workflow=ToolRun, context=lambda self, item: {"tool": item}, wait=5
    )

    @gd.map("pages", keep_result=False, transaction=True)
    def read_page(self, item: int, session: Any) -> None: ...

    @gd.map(lambda self: [self])
    async def answer(self, item: Any) -> None: ...

    def pages(self) -> list[int]:
        return [1, 2]


def test_a_map_is_a_step_that_also_waits_for_the_step_it_runs_over() -> None:
    assert edges(ToolAgent) == {
        "plan": [],
        "review": ["plan"],
        "call_tool": ["review", "plan"],
        "start_tools": ["call_tool", "plan"],
        "read_page": ["start_tools"],
        "answer": ["read_page"],
    }
    assert definition_of(ToolAgent).is_graph is True


def test_a_map_holds_its_terms_and_the_options_of_a_step() -> None:
    node = definition_of(ToolAgent).require("call_tool")

    assert (node.kind, node.is_map, node.expands) == (NodeKind.MAP, True, True)
    assert node.expansion == ExpansionTerms(
        parallelism=8, failure_strategy=gd.FailureStrategy.CONTINUE_ON_FAILURE
    )
    assert node.options.queue == "tools"
    assert options(ToolAgent, "read_page").transaction is True
    assert definition_of(ToolAgent).require("answer").is_async is True


def test_the_items_of_a_map_come_from_a_step_a_method_or_a_callable() -> None:
    nodes = [
        definition_of(ToolAgent).require(name)
        for name in ("call_tool", "start_tools", "read_page", "answer")
    ]
    agent = ToolAgent()

    assert [node.items_from for node in nodes] == ["plan", "plan", None, None]
    assert nodes[2].items.call(agent) == [1, 2]
    assert nodes[3].items.call(agent) == [agent]


def test_a_map_keeps_results_unless_it_is_told_not_to() -> None:
    kept = {node.name: node.keeps_result for node in definition_of(ToolAgent).nodes if node.is_map}

    assert kept == {"call_tool": True, "start_tools": True, "read_page": False, "answer": True}


def test_a_map_may_start_a_child_for_each_item() -> None:
    node = definition_of(ToolAgent).require("start_tools")

    assert node.child is not None
    assert node.child.workflow_class is ToolRun
    assert callable(node.child.context)
    assert node.child.context(None, "search") == {"tool": "search"}
    assert (node.has_method, node.is_async) == (False, False)


def test_a_map_is_its_own_worker() -> None:
    definition = definition_of(ToolAgent)

    assert definition.worker_of("call_tool").name == "call_tool"
    assert definition.batch_of("call_tool").name == "call_tool"
    assert definition.expansion_node("call_tool_012") is definition.require("call_tool")
    assert definition.expansion_node("start_tools") is definition.require("start_tools")


def test_a_child_may_override_a_map_and_its_items_with_methods() -> None:
    class Careful(ToolAgent):
        def plan(self) -> list[str]:
            return []

        def call_tool(self, item: str) -> str:
            return item.upper()

    node = definition_of(Careful).require("call_tool")
    assert (node.items_from, node.expansion.parallelism) == ("plan", 8)
    assert node.function(None, "read") == "READ"


def test_the_items_may_be_a_parents_step_whose_body_is_overridden_in_the_same_class() -> None:
    class Parent(gd.Workflow):
        @gd.step(keep_result=True)
        def plan(self) -> list[str]:
            return []

    class Overriding(Parent):
        def plan(self) -> list[str]:
            return ["a"]

        @gd.map(plan)
        def call(self, item: str) -> None: ...

    assert definition_of(Overriding).require("call").items_from == "plan"


def test_the_items_may_be_the_result_of_an_aggregate_or_a_child() -> None:
    class Report(gd.Workflow):
        rows = gd.batch(lambda self: gd.Batches.none())
        process = rows.worker(lambda self, batch: None)
        summarize = rows.aggregate(lambda self, results: ["a"])
        ship = gd.child(ToolRun)

        @gd.map(summarize, depends_on=[])
        def send(self, item: str) -> None: ...

        @gd.map(ship)
        def pack(self, item: str) -> None: ...

    assert edges(Report)["send"] == ["summarize"]
    assert edges(Report)["pack"] == ["send", "ship"]


def test_items_of_a_method_that_returns_a_coroutine_are_refused() -> None:
    async def fetch() -> list[int]:
        return []

    class Fetching(gd.Workflow):
        @gd.map(lambda self: fetch())
        def read(self, item: int) -> None: ...

    items = definition_of(Fetching).require("read").items
    with pytest.raises(StepConfigurationError, match="returned a coroutine"):
        items.call(Fetching())


def refused(items: str, *arguments: str, rest: str = "") -> str:
    """The error of a class with one map, which stands in line 7."""
    return refusal(
        f"class Agent(gd.Workflow):\n"
        f"    def pages(self): ...\n"
        f"    async def fetch(self): ...\n"
        f"    count = 3\n"
        f"    @gd.step(keep_result=True)\n"
        f"    def plan(self): ...\n"
        f"    @gd.map({', '.join([items, *arguments])})\n"
        f"    def call(self, item): ...\n"
        f"    @gd.step\n"
        f"    def silent(self): ...\n"
        f"    @gd.step(keep_result=True)\n"
        f"    def late(self): ...\n"
        f"    @gd.approval(role='boss')\n"
        f"    def sign(self, decision): ...\n"
        f"    @gd.map(plan)\n"
        f"    def again(self, item): ...\n"
        f"    gone = gd.removed_step()\n"
        f"{rest}"
    )


ITEMS = {
    "no items": (
        "None",
        "gd.map: items takes a step that keeps its result, a method's name or a callable of self, "
        "not None.",
    ),
    "a list": (
        "[1, 2]",
        "gd.map: items takes a step that keeps its result, a method's name or a callable of self, "
        "not [1, 2].",
    ),
    "a callable that takes nothing": (
        "lambda: []",
        "gd.map: items: '<lambda>' is called with (self) but takes (): too many positional "
        "arguments. Write @gd.map(items) above the method that is called with each item.",
    ),
    "an async method": (
        "fetch",
        "gd.map: items takes a plain function, and 'fetch' is async.",
    ),
    "the name of an async method": (
        "'fetch'",
        "Map 'call': items='fetch' takes a plain function, and 'fetch' is async.",
    ),
    "a name that is misspelled": (
        "'plam'",
        "Map 'call': items='plam' names neither a step nor a method of Agent. Did you mean 'plan'?",
    ),
    "the name of what is no method": (
        "'count'",
        "Map 'call': items='count' names neither a step nor a method of Agent.",
    ),
    "a step that keeps no result": (
        "'silent'",
        "Map 'call': its items are the result of step 'silent', which keeps none. Declare it with "
        "@gd.step(keep_result=True).",
    ),
    "a step that runs later": (
        "'late'",
        "Map 'call': its items are the result of 'late', which runs after it. Place 'late' before "
        "the map.",
    ),
    "an approval": (
        "'sign'",
        "Map 'call': items takes a step that keeps a list as its result, and 'sign' is an "
        "approval. Pass a callable of self that returns the items.",
    ),
    "another map": (
        "'again'",
        "Map 'call': items takes a step that keeps a list as its result, and 'again' is a map. "
        "Pass a callable of self that returns the items.",
    ),
    "a removed step": (
        "'gone'",
        "Map 'call': items takes a step that keeps a list as its result, and 'gone' is a removed "
        "step. Pass a callable of self that returns the items.",
    ),
}


@pytest.mark.parametrize(("items", "message"), ITEMS.values(), ids=ITEMS.keys())
def test_what_cannot_be_mapped_is_refused(items: str, message: str) -> None:
    assert refused(items) == f"{message} (signup.py:7)"


OPTIONS = {
    "an option of a batch": (
        "checkpoint_interval=5",
        "Map 'call': there is no option 'checkpoint_interval'.",
    ),
    "a strategy that there is not": (
        "failure_strategy='ignore'",
        "Map 'call': failure_strategy must be 'fail_fast', 'continue_on_failure' or 'isolate', got "
        "'ignore'.",
    ),
    "parallelism of nothing": (
        "parallelism=0",
        "Map 'call': parallelism must be at least 1, got 0.",
    ),
    "a context without a workflow": (
        "context={}",
        "context of a map needs workflow=, the class of its child workflows.",
    ),
    "a session that the body does not take": (
        "transaction=True",
        "Map 'call': 'call' is called with (self, item, session) but takes (self, item): too many "
        "positional arguments.",
    ),
}


@pytest.mark.parametrize(("argument", "message"), OPTIONS.values(), ids=OPTIONS.keys())
def test_a_wrong_option_of_a_map_is_refused(argument: str, message: str) -> None:
    error = refused("plan", argument)

    assert error.startswith(message)
    assert error.endswith("(signup.py:7)")


CHILDREN = {
    "what is no class": (
        "gd.map('pages', workflow=int)",
        "workflow of gd.map takes a workflow class or the name of its type, not <class 'int'>.",
    ),
    "a context of the parent alone": (
        "gd.map('pages', workflow='Tool', context=lambda self: {})",
        "Map of 'Tool': context: '<lambda>' is called with (self, item) but takes (self): too many "
        "positional arguments.",
    ),
    "a hero that is text": (
        "gd.map('pages', workflow='Tool', hero='ann')",
        "Map of 'Tool': hero takes a record, a gd.HeroRef or a callable of the parent and the "
        "item, not 'ann'.",
    ),
    "no method": (
        "gd.map('pages')",
        "Agent.call is not a map: gd.map(...) got no method. Decorate a method with it, or pass "
        "workflow=....",
    ),
    "items as they are": (
        "gd.map([1, 2], workflow='Tool')",
        "Map of 'Tool': items takes a step that keeps its result, a method's name or a callable of "
        "self, not [1, 2].",
    ),
    "the step of another class": (
        "gd.map(gd.step(lambda self: []), workflow='Tool')",
        "Map 'call': items is <step '<lambda>' at signup.py:3>, which is not a step of Agent.",
    ),
    "a name without room for numbers": (
        f"None\n    {'m' * 185} = gd.map('pages', workflow='Tool')",
        f"The map name {'m' * 40!r}... of Agent is 185 characters long; at most 184 can be stored, "
        f"as its executions have a number added to it.",
    ),
    "the name of an execution": (
        "gd.map('pages', workflow='Tool'); call_001 = gd.step(lambda self: None)",
        "Agent.call_001: 'call_001' is the name of an execution of the map 'call'. Choose "
        "another name.",
    ),
}


@pytest.mark.parametrize(("made", "message"), CHILDREN.values(), ids=CHILDREN.keys())
def test_a_wrong_map_of_child_workflows_is_refused(made: str, message: str) -> None:
    error = refusal(f"class Agent(gd.Workflow):\n    def pages(self): ...\n    call = {made}\n")

    assert error.rpartition(" (signup.py")[0] == message


def test_a_map_without_items_is_refused() -> None:
    error = refusal("class Agent(gd.Workflow):\n    @gd.map\n    def call(self, item): ...\n")

    assert error == (
        "gd.map: items: 'call' is called with (self) but takes (self, item): missing a required "
        "argument: 'item'. Write @gd.map(items) above the method that is called with each item. "
        "(signup.py:2)"
    )


def test_two_maps_that_wait_for_each_others_results_are_refused() -> None:
    error = refusal(
        """
        class Agent(gd.Workflow):
            one = gd.map("later", workflow="Tool", depends_on=[])
            first = gd.step(lambda self: [], keep_result=True)
            two = gd.map("first", workflow="Tool", depends_on=[])
            later = gd.step(lambda self: [], keep_result=True)
        """
    )

    assert error == (
        "Map 'two': its items are the result of 'first', which runs after it. Place 'first' before "
        "the map. (signup.py:4)"
    )


def test_a_child_of_a_map_may_be_named_by_a_type_that_is_defined_later() -> None:
    names = run_file(
        """
        class Agent(gd.Workflow):
            def pages(self): return [1]
            call = gd.map("pages", workflow="Tool", hero=lambda self, item: None)
        """
    )

    child = definition_of(names["Agent"]).require("call").child
    hero: Callable[..., Any] = child.hero  # type: ignore[union-attr, assignment]  # as given
    assert child is not None
    assert (child.name, hero(None, None)) == ("Tool", None)
