from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.nodes.decision import chosen_branches
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.workflow import definition_of
from geneva_drive.errors import InvalidInput, NoSuchBranch
from tests.definition.writing import edges


class Routing(gd.Workflow):
    @gd.step
    def charge(self) -> None: ...

    @gd.decision(depends_on=charge)
    def route(self) -> list[str]:
        return ["gift_wrap"]

    @gd.task(depends_on=route, renamed_from="wrap")
    def gift_wrap(self) -> None: ...

    @gd.task(depends_on=route)
    def express(self) -> None: ...

    @gd.step(depends_on=[gift_wrap, express])
    def close(self) -> None: ...


class LoudRouting(Routing):
    def gift_wrap(self) -> None: ...


def chosen(returned: object, workflow_class: type[gd.Workflow[Any]] = Routing) -> tuple[str, ...]:
    definition = definition_of(workflow_class)
    return chosen_branches(definition, definition.require("route"), returned)


def test_a_decision_is_a_node_and_still_a_method() -> None:
    node = definition_of(Routing).require("route")

    assert (node.kind, node.depends_on) == (NodeKind.DECISION, ("charge",))
    assert node.function(Routing()) == ["gift_wrap"]
    assert Routing().route() == ["gift_wrap"]
    assert edges(Routing)["close"] == ["gift_wrap", "express"]


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, ()),
        ([], ()),
        ("express", ("express",)),
        (["gift_wrap"], ("gift_wrap",)),
        (("express", "gift_wrap", "express"), ("gift_wrap", "express")),
        ({"express"}, ("express",)),
        (Routing.express, ("express",)),
        (Routing().express, ("express",)),
        ([Routing.gift_wrap, "express"], ("gift_wrap", "express")),
        ("wrap", ("gift_wrap",)),
    ],
    ids=[
        "None",
        "no name",
        "a name",
        "a list",
        "several, in order of declaration",
        "a set",
        "a decorated method",
        "a bound method",
        "both",
        "a former name",
    ],
)
def test_what_a_decision_returns_means_branches(returned: object, expected: tuple[str]) -> None:
    assert chosen(returned) == expected


def test_an_overridden_branch_is_chosen_by_what_stands_for_it() -> None:
    assert chosen(LoudRouting().gift_wrap, LoudRouting) == ("gift_wrap",)
    assert chosen(Routing.gift_wrap, LoudRouting) == ("gift_wrap",)


@pytest.mark.parametrize(
    ("returned", "named"),
    [
        ("gift_warp", "'gift_warp'"),
        (["express", "close"], "'close'"),
        (True, "True"),
        ([["express"]], "['express']"),
        ({"express": 1}, "{'express': 1}"),
    ],
    ids=["unknown", "not waiting for it", "a boolean", "a list in a list", "a dict"],
)
def test_what_is_no_branch_is_refused_with_those_there_are(returned: object, named: str) -> None:
    with pytest.raises(NoSuchBranch) as caught:
        chosen(returned)

    assert str(caught.value) == (
        f"Decision 'route' of Routing chose {named}, which is not one of its branches: gift_wrap, "
        f"express. It returns a branch's name or decorated method, a list of these, or None."
    )
    assert isinstance(caught.value, InvalidInput)
    assert caught.value.branches == ("gift_wrap", "express")


def test_a_decision_without_branches_may_choose_none() -> None:
    class Lonely(gd.Workflow):
        @gd.decision
        async def route(self) -> None: ...

    definition = definition_of(Lonely)
    with pytest.raises(NoSuchBranch) as caught:
        chosen("route", Lonely)

    assert chosen(None, Lonely) == ()
    assert definition.require("route").is_async is True
    assert str(caught.value) == (
        "Decision 'route' of Lonely chose 'route', which is not one of its branches: (none). "
        "It returns a branch's name or decorated method, a list of these, or None."
    )
