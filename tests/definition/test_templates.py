from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.dynamic import templates
from geneva_drive.errors import InvalidInput, StepConfigurationError
from tests.definition.writing import refusal, run_file


@pytest.fixture(autouse=True)
def forgotten_templates() -> Iterator[None]:
    with templates.isolated():
        yield


class Recorder:
    """Stands where the Drive will: keeps what it was asked."""

    def __init__(self) -> None:
        self.started: list[tuple[gd.DynamicWorkflow, object]] = []

    def start_dynamic(self, w: gd.DynamicWorkflow, *, session: object) -> str:
        self.started.append((w, session))
        return "the handle"

    def workflows_of_template(self, name: str) -> str:
        return f"the runs of {name}"


@pytest.fixture
def drive() -> Any:
    return Recorder()


@pytest.fixture
def nightly() -> templates.Template[[list[str]]]:
    @gd.template(name="nightly")
    def nightly(w: gd.DynamicWorkflow, tables: list[str]) -> None:
        """Export tables."""
        w.fan_out(tables, name="export_{}", job="warehouse.export", depends_on=None)
        w.node("report", job="warehouse.report")

    return nightly


def names(w: gd.DynamicWorkflow) -> list[str]:
    return [node.name for node in w.nodes.values()]


def test_a_template_builds_a_workflow_from_its_parameters(
    nightly: templates.Template[[list[str]]],
) -> None:
    w = nightly.build(tables=["orders", "users"])

    assert names(w) == ["export_orders", "export_users", "report"]
    assert w.template_name == "nightly"


def test_a_template_starts_what_it_builds(
    nightly: templates.Template[[list[str]]], drive: Any
) -> None:
    session: Any = object()

    handle: Any = nightly.using(drive).start(
        hero="hero",
        context={"a": 1},
        queue="mail",
        priority=3,
        idempotency_key="monday",
        session=session,
        tables=["orders"],
    )

    [(w, joined)] = drive.started
    assert handle == "the handle"
    assert joined is session
    assert names(w) == ["export_orders", "report"]
    assert (w.template_name, w.hero, w.context) == ("nightly", "hero", {"a": 1})
    assert (w.queue, w.priority, w.idempotency_key) == ("mail", 3, "monday")


def test_the_builder_sees_what_start_was_given(drive: Any) -> None:
    @gd.template(name="greeting")
    def greeting(w: gd.DynamicWorkflow) -> None:
        w.node(f"greet_{w.hero}", job="job.greet")

    greeting.using(drive).start(hero="Ada")

    assert names(drive.started[0][0]) == ["greet_Ada"]


def test_a_template_asks_its_drive_for_its_runs(
    nightly: templates.Template[[list[str]]], drive: Any
) -> None:
    runs: Any = nightly.using(drive).runs()

    assert runs == "the runs of nightly"


def test_a_template_that_is_called_adds_its_nodes_to_another_workflow(
    nightly: templates.Template[[list[str]]],
) -> None:
    @gd.template(name="weekly")
    def weekly(w: gd.DynamicWorkflow) -> None:
        w.node("begin", job="job.begin")
        nightly(w, ["orders"])
        w.node("end", job="job.end")

    w = weekly.build()

    assert names(w) == ["begin", "export_orders", "report", "end"]
    assert w.template_name == "weekly"


def test_a_template_is_named_by_its_module_and_function() -> None:
    file = run_file(
        """
        @gd.template
        def nightly(w, tables): "Export tables."
        """,
        "warehouse",
    )

    nightly = file["nightly"]
    assert nightly.name == "warehouse.nightly"
    assert nightly.__doc__ == "Export tables."
    assert repr(nightly) == "<template 'warehouse.nightly' at warehouse.py:1>"
    assert templates.get("warehouse.nightly") is nightly
    assert templates.get("warehouse.weekly") is None


def test_a_template_that_is_defined_again_replaces_the_former() -> None:
    text = """
        @gd.template(name="nightly")
        def nightly(w): ...
        """
    run_file(text, "warehouse")

    again = run_file(text, "warehouse")["nightly"]

    assert templates.get("nightly") is again


def test_another_function_under_the_same_name_is_refused() -> None:
    run_file(
        """
        @gd.template(name="nightly")
        def nightly(w): ...
        """,
        "warehouse",
    )

    words = refusal(
        """
        @gd.template(name="nightly")
        def weekly(w): ...
        """
    )

    assert words == (
        "The template name 'nightly' is taken by <template 'nightly' at warehouse.py:1>. Give one "
        'of them another name: @gd.template(name="..."). (signup.py:1)'
    )


def test_parameters_beside_the_named_ones_may_be_taken_as_they_come() -> None:
    @gd.template(name="any")
    def anything(w: gd.DynamicWorkflow, /, **context: int) -> None:
        w.fan_out(context, name="{}", job="job.a")

    assert names(anything.build(self=1, name=2)) == ["self", "name"]


WRONG: Mapping[str, tuple[dict[str, Any], str]] = {
    "nothing": (
        {},
        "Template 'nightly' is started with () but takes (w: 'gd.DynamicWorkflow', tables: "
        "'list[str]') -> 'None': missing a required argument: 'tables'.",
    ),
    "another name": (
        {"tables": [], "table": 1},
        "Template 'nightly' is started with (tables, table) but takes (w: 'gd.DynamicWorkflow', "
        "tables: 'list[str]') -> 'None': got an unexpected keyword argument 'table'.",
    ),
}


@pytest.mark.parametrize(("parameters", "words"), WRONG.values(), ids=WRONG)
def test_wrong_parameters_are_refused_before_anything_runs(
    nightly: templates.Template[[list[str]]], parameters: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        nightly.start(**parameters)

    assert str(caught.value) == words


def test_an_error_of_the_builder_itself_is_raised_as_it_is() -> None:
    @gd.template(name="broken")
    def broken(w: gd.DynamicWorkflow) -> None:
        raise TypeError("of its own")

    with pytest.raises(TypeError, match=r"^of its own$"):
        broken.start()


PLACE = "(signup.py:1)"
REFUSED: Mapping[str, tuple[str, str]] = {
    "a parameter named like a keyword of start": (
        "def nightly(w, tables, session): ...",
        "Template 'nightly': the parameter 'session' has the name of a keyword of start(). "
        "Choose another name; start() sets w.hero, w.context and so on.",
    ),
    "no parameter": (
        "def nightly(): ...",
        "Template 'nightly': its first parameter is the gd.DynamicWorkflow to build.",
    ),
    "a first parameter by name": (
        "def nightly(*, w): ...",
        "Template 'nightly': its first parameter is the gd.DynamicWorkflow to build.",
    ),
    "parameters by position": (
        "def nightly(w, *tables): ...",
        "Template 'nightly': start() passes parameters by name, and cannot pass *tables. Make it "
        "a plain parameter.",
    ),
    "a parameter by position": (
        "def nightly(w, tables, /): ...",
        "Template 'nightly': start() passes parameters by name, and cannot pass tables. Make it a "
        "plain parameter.",
    ),
    "an async function": (
        "async def nightly(w): ...",
        "Template 'nightly': it is a plain function that adds nodes, and not async or a generator.",
    ),
    "a generator": (
        "def nightly(w): yield",
        "Template 'nightly': it is a plain function that adds nodes, and not async or a generator.",
    ),
    "a class": (
        "class nightly: ...",
        "A template is a function, not type <class 'signup.nightly'>.",
    ),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_a_template_is_refused_where_it_is_written(text: str, words: str) -> None:
    assert refusal(f"@gd.template\n{text}") == f"{words} {PLACE}"


def test_a_template_is_not_decorated_twice() -> None:
    words = refusal("@gd.template\n@gd.template\ndef nightly(w): ...")

    assert (
        words == "<template 'signup.nightly' at signup.py:2> is a template already. (signup.py:1)"
    )


def test_the_name_of_a_template_is_text_that_can_be_stored() -> None:
    words = refusal('@gd.template(name="")\ndef nightly(w): ...')

    assert words == "Template 'nightly': the name must not be empty. (signup.py:1)"


def test_a_template_is_made_of_a_function() -> None:
    with pytest.raises(StepConfigurationError, match="A template is a function, not str 'nightly'"):
        gd.template("nightly")  # type: ignore[call-overload]  # that is the fault
