from __future__ import annotations

import re

import pytest

import geneva_drive as gd
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.workflow import definition_of
from tests.definition.writing import edges, options, refusal, steps

CHILD_OPTIONS = (
    "after_step, also_depends_on, before_step, depends_on, max_reattempts, on_exception, priority, "
    "queue, renamed_from, retry, run_if, skip_if, terminal_action, wait"
)


def test_a_child_workflow_is_a_member_of_the_chain() -> None:
    class Ship(gd.Workflow): ...

    class Order(gd.Workflow):
        charge = gd.step(lambda self: None)
        ship = gd.child(Ship)
        close = gd.step(lambda self: None)

    node = definition_of(Order).require(Order.ship)
    assert edges(Order) == {"charge": [], "ship": ["charge"], "close": ["ship"]}
    assert definition_of(Order).is_graph is False
    assert (node.kind, node.is_async, node.has_method) == (NodeKind.CHILD, False, False)
    assert node.child is not None
    assert (node.child.workflow_class, node.child.hero, node.child.context) == (Ship, None, None)
    assert node.child.detached is False


def test_a_child_workflow_keeps_what_it_is_started_with() -> None:
    def hero(self: gd.Workflow) -> gd.HeroRef:
        return gd.HeroRef("Parcel", "7")

    class Order(gd.Workflow):
        ship = gd.child("Ship", hero=hero, context={"fast": True}, detached=True, wait=5, queue="q")
        bill = gd.child("Bill", hero=gd.HeroRef("Bill", "1"), context=lambda self: None)

    ship = definition_of(Order).require("ship").child
    bill = definition_of(Order).require("bill").child
    assert ship is not None
    assert (ship.workflow_class, ship.hero, ship.context) == ("Ship", hero, {"fast": True})
    assert ship.detached is True
    assert bill is not None
    assert bill.hero == gd.HeroRef("Bill", "1")
    assert callable(bill.context)
    assert options(Order, "ship").queue == "q"


def test_a_child_workflow_is_inserted_and_waits_like_a_step() -> None:
    class Order(gd.Workflow):
        charge = gd.step(lambda self: None)
        check = gd.task(lambda self: None)
        close = gd.step(lambda self: None)
        ship = gd.child("Ship", after_step=charge)
        bill = gd.child("Bill", depends_on=[check, "ship"])
        thank = gd.child("Thank", also_depends_on=check)
        note = gd.task(lambda self: None, depends_on=thank)

    assert edges(Order) == {
        "charge": [],
        "ship": ["charge"],
        "check": [],
        "close": ["ship"],
        "bill": ["check", "ship"],
        "thank": ["bill", "check"],
        "note": ["thank"],
    }


def test_a_child_workflow_is_overridden_in_place() -> None:
    class Order(gd.Workflow):
        charge = gd.step(lambda self: None)
        ship = gd.child("Ship")
        close = gd.step(lambda self: None)

    class Express(Order):
        ship = gd.child("ExpressShip", renamed_from="post")

    class Digital(Order):
        @gd.step
        def ship(self) -> None: ...  # type: ignore[override]  # no child workflow any more

    express = definition_of(Express).get("post")
    assert steps(Express) == steps(Digital) == ["charge", "ship", "close"]
    assert express is not None
    assert express.child is not None
    assert express.child.workflow_class == "ExpressShip"
    assert definition_of(Digital).is_graph is False


def test_a_list_of_child_workflows_counts() -> None:
    class Order(gd.Workflow):
        parcels = [gd.child("Ship", context={"parcel": n}) for n in range(2)]  # noqa: RUF012 - as users write it

    assert edges(Order) == {"parcels_1": [], "parcels_2": ["parcels_1"]}


REFUSED = {
    "no class": (
        "gd.child(7)",
        "gd.child takes a workflow class or the name of its type, not 7. (signup.py:1)",
    ),
    "no workflow class": (
        "gd.child(int)",
        "gd.child takes a workflow class or the name of its type, not <class 'int'>. (signup.py:1)",
    ),
    "no name": (
        "gd.child('')",
        "gd.child takes a workflow class or the name of its type, not ''. (signup.py:1)",
    ),
    "the class of all": (
        "gd.child(gd.Workflow)",
        "gd.child takes a workflow class or the name of its type, not "
        "<class 'geneva_drive.definition.workflow.Workflow'>. (signup.py:1)",
    ),
    "an unknown option": (
        "gd.child('Ship', timeout=5)",
        f"Child workflow 'Ship': there is no option 'timeout'. The options are: {CHILD_OPTIONS}. "
        "(signup.py:1)",
    ),
    "a bad option": (
        "gd.child('Ship', wait=-1)",
        "Child workflow 'Ship': wait: -1 is negative. (signup.py:1)",
    ),
    "detached of text": (
        "gd.child('Ship', detached='yes')",
        "Child workflow 'Ship': detached must be True or False, got 'yes'. (signup.py:1)",
    ),
    "a hero of text": (
        "gd.child('Ship', hero='parcel')",
        "Child workflow 'Ship': hero takes a record, a gd.HeroRef or a callable of the parent, "
        "not 'parcel'. (signup.py:1)",
    ),
    "a hero of a class": (
        "gd.child('Ship', hero=int)",
        "Child workflow 'Ship': hero takes a record, a gd.HeroRef or a callable of the parent, "
        "not <class 'int'>. (signup.py:1)",
    ),
    "a hero of nobody": (
        "gd.child('Ship', hero=lambda: 0)",
        "Child workflow 'Ship': hero: '<lambda>' is called with (self) but takes (): "
        "too many positional arguments. (signup.py:1)",
    ),
    "a context of text": (
        "gd.child('Ship', context='fast')",
        "Child workflow 'Ship': context takes a dict or a callable of the parent that returns one, "
        "not 'fast'. (signup.py:1)",
    ),
    "a task of its parent's name": (
        """
        class Order(gd.Workflow):
            ship = gd.child("Ship")
        class Express(Order):
            ship = gd.task(lambda self: 0)
        """,
        "Express.ship is a child workflow of its parent and cannot become a task. "
        "Choose another name. (signup.py:4)",
    ),
    "one under two names": (
        """
        class Order(gd.Workflow):
            parcels = [gd.child("Ship")] * 2
        """,
        "Order uses one child workflow as both 'parcels_1' and 'parcels_2'. "
        "Make a child workflow for each with gd.child(...). (signup.py:2)",
    ),
}


@pytest.mark.parametrize(("text", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_a_faulty_child_workflow_is_refused_with_what_and_where(text: str, expected: str) -> None:
    assert refusal(text) == expected


def test_a_method_cannot_stand_in_the_place_of_a_child_workflow() -> None:
    message = refusal("""
        class Order(gd.Workflow):
            ship = gd.child("Ship")
        class Digital(Order):
            def ship(self): ...
    """)

    assert re.sub(r"<function.*?>", "<it>", message) == (
        "Digital.ship is <child workflow 'Ship' at signup.py:2> of its parent and cannot become "
        "<it>. Override it with gd.child(...), or choose another name. (signup.py:4)"
    )


def test_a_context_that_cannot_be_stored_is_refused() -> None:
    message = refusal("gd.child('Ship', context={'when': object()})")

    assert message.startswith(
        "Child workflow 'Ship': context['when'] is of type object, "
        "which cannot be stored as JSON. Use "
    )


def test_a_class_is_named_in_the_faults_of_its_child_workflow() -> None:
    message = refusal("""
        class Ship(gd.Workflow): ...
        gd.child(Ship, wait=-1)
    """)

    assert message == "Child workflow 'Ship': wait: -1 is negative. (signup.py:2)"
