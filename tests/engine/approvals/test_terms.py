"""The terms of a request: evaluated when the node is reached, and frozen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, asked, reach, requests_of
from tests.heroes import User, save
from tests.looking import error_of, history, last

evaluated: list[str] = []


@pytest.fixture(autouse=True)
def _none_evaluated() -> None:
    evaluated.clear()


def noting(name: str, value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a term that notes when it is evaluated."""

    def term(self: Any) -> Any:
        evaluated.append(name)
        return value(self)

    return term


@dataclass
class Amount:
    euros: int = 0


def refund(**options: Any) -> type[gd.Workflow[Any]]:
    class Refund(gd.Workflow):
        @gd.approval(**{"role": "manager", **options})
        def manager(self, decision: Decision) -> None: ...

    return Refund


def test_terms_are_what_was_declared(geneva: gd.Drive) -> None:
    workflow = reach(
        geneva,
        refund(
            ask="Refund {context[amount]} to {hero.id}?",
            show={"order": 7, "paid": 80.5},
            choices=("all", "half", "reject"),
            timeout=timedelta(hours=2),
            escalate_to="director",
            quorum=2,
            reject_quorum=3,
        ),
        hero=gd.HeroRef("Claimant", "12"),
        context={"amount": 80},
    )

    request = asked(geneva)

    assert request.title == "Refund 80 to 12?"
    assert request.facts == {"order": 7, "paid": 80.5}
    assert request.choices == ("all", "half", "reject")
    assert (request.role, request.approvers, request.escalate_to) == ("manager", (), "director")
    assert (request.quorum, request.reject_quorum) == (2, 3)
    assert request.expires_at == request.requested_at + timedelta(hours=2)
    assert (request.workflow_id, request.step_name) == (workflow.id, "manager")
    assert (request.state, request.initial, request.votes) == ("pending", {}, [])
    assert (request.choice, request.comment, request.data) == (None, None, None)
    assert (request.decided_at, request.decided_by) == (None, None)


def test_an_approval_that_asks_nothing_has_no_title_and_no_facts(geneva: gd.Drive) -> None:
    reach(geneva, refund())

    request = asked(geneva)

    assert (request.title, request.facts, request.initial) == (None, {}, {})


@pytest.mark.parametrize(
    ("option", "value", "attribute", "seen"),
    [
        ("role", lambda self: self.hero.name, "role", "Ada"),
        ("ask", lambda self: f"Trust {self.hero.name}?", "title", "Trust Ada?"),
        ("ask", "Trust {hero.name}?", "title", "Trust Ada?"),
        ("show", lambda self: {"name": self.hero.name}, "facts", {"name": "Ada"}),
        ("quorum", lambda self: len(self.hero.name), "quorum", 3),
    ],
    ids=["role", "ask", "ask with a format", "show", "quorum"],
)
def test_a_term_is_frozen_when_the_node_is_reached(
    geneva: gd.Drive, users: None, option: str, value: Any, attribute: str, seen: object
) -> None:
    hero = save(geneva, User(name="Ada"))
    reach(geneva, refund(**{option: value}), hero=hero)

    with geneva.engine.begin() as connection:
        connection.execute(update(User).values(name="Grace Hopper"))
    drain(geneva)

    assert getattr(asked(geneva), attribute) == seen


def test_each_term_is_evaluated_once(geneva: gd.Drive) -> None:
    terms = {
        "approvers": lambda self: ["ann", "bob"],
        "quorum": lambda self: 2,
        "timeout": lambda self: timedelta(hours=1),
        "ask": lambda self: "Pay?",
        "show": lambda self: {"order": 7},
        "initial": lambda self: {"euros": 80},
    }
    callables = {name: noting(name, term) for name, term in terms.items()}
    workflow = reach(geneva, refund(role=None, form=Amount, **callables))
    request = asked(geneva)
    assert sorted(evaluated) == sorted(terms)

    request.approve(by="ann", data={"euros": 5})
    request.approve(by="bob", data={"euros": 6})
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert sorted(evaluated) == sorted(terms)
    assert (request.approvers, request.quorum, request.title) == (("ann", "bob"), 2, "Pay?")
    assert (request.facts, request.initial) == ({"order": 7}, {"euros": 80})
    assert request.expires_at == request.requested_at + timedelta(hours=1)


def test_terms_are_evaluated_again_when_the_node_is_asked_again(geneva: gd.Drive) -> None:
    workflow = reach(geneva, refund(ask=noting("ask", lambda self: f"Time {len(evaluated)}?")))

    workflow.rewind("manager")
    drain(geneva)

    titles = [one.title for one in geneva.approvals.of_workflow(workflow.id)]
    assert titles == ["Time 1?", "Time 2?"]


def test_terms_are_evaluated_again_by_a_further_attempt_at_asking(geneva: gd.Drive) -> None:
    def role(self: Any) -> str:
        evaluated.append("role")
        if len(evaluated) == 1:
            raise ConnectionError("The directory is down.")
        return "manager"

    workflow = reach(geneva, refund(role=role, on_exception="reattempt", max_reattempts=2))

    assert [e.outcome for e in workflow.step_executions] == ["reattempted_by_exception", None]
    assert requests_of(workflow) == [("manager", "pending")]


def fails(self: Any) -> Any:
    raise ConnectionError("The directory is down.")


DOWN = ("builtins.ConnectionError", "The directory is down.")
INVALID = "geneva_drive.errors.InvalidInput"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"role": fails}, DOWN),
        ({"role": None, "approvers": fails}, DOWN),
        ({"quorum": fails}, DOWN),
        ({"timeout": fails}, DOWN),
        ({"ask": fails}, DOWN),
        ({"show": fails}, DOWN),
        ({"role": lambda self: None}, (INVALID, "role must be text, got None.")),
        ({"role": lambda self: ""}, (INVALID, "role must not be empty.")),
        (
            {"role": None, "approvers": lambda self: "ann"},
            (INVALID, "approvers must be a list of texts, got 'ann'. Write approvers=['ann']."),
        ),
        (
            {"role": None, "approvers": lambda self: []},
            (INVALID, "approvers is empty, so the request could never be decided."),
        ),
        (
            {"role": None, "approvers": lambda self: ["ann"], "quorum": 2},
            (
                INVALID,
                "quorum=2 and reject_quorum=1 need at least 2 approvers, got 1: with fewer, all of "
                "them could vote without a decision.",
            ),
        ),
        (
            {"quorum": lambda self: 0},
            (INVALID, "quorum must be at least 1, got 0."),
        ),
        ({"timeout": lambda self: -1}, (INVALID, "timeout: -1 is negative.")),
        ({"ask": lambda self: 5}, (INVALID, "ask must return text, got 5.")),
        (
            {"show": lambda self: {"lines": [1]}},
            (
                INVALID,
                "show must be flat, and 'lines' is a list. Write each fact under a name of its "
                "own, or as text.",
            ),
        ),
        (
            {"ask": "Pay {context[total]}?"},
            ("builtins.KeyError", "'total'"),
        ),
    ],
    ids=[
        "role raises",
        "approvers raises",
        "quorum raises",
        "timeout raises",
        "ask raises",
        "show raises",
        "no role",
        "an empty role",
        "approvers as text",
        "no approvers",
        "too few approvers",
        "no quorum",
        "a deadline in the past",
        "a title that is a number",
        "nested facts",
        "a format of what is not there",
    ],
)
def test_a_term_that_fails_goes_through_the_policy_of_the_node(
    geneva: gd.Drive, options: dict[str, Any], error: tuple[str, str]
) -> None:
    workflow = reach(geneva, refund(**options))

    assert (workflow.state, workflow.needs) == ("paused", "operator")
    assert history(workflow) == [("manager", "failed", "paused_by_exception")]
    assert error_of(last(workflow)) == error
    assert requests_of(workflow) == []


def test_a_term_that_fails_obeys_on_exception(geneva: gd.Drive) -> None:
    workflow = reach(geneva, refund(role=fails, on_exception="skip"))

    assert (workflow.state, requests_of(workflow)) == ("finished", [])
    assert history(workflow) == [("manager", "skipped", "skipped_by_exception")]


def test_resume_after_a_term_that_failed_asks(geneva: gd.Drive) -> None:
    def role(self: Any) -> str:
        evaluated.append("role")
        return "manager" if len(evaluated) > 1 else fails(self)

    workflow = reach(geneva, refund(role=role))

    workflow.resume()
    drain(geneva)

    assert requests_of(workflow) == [("manager", "pending")]


def test_terms_may_return_nothing_where_they_are_optional(geneva: gd.Drive) -> None:
    reach(geneva, refund(timeout=lambda self: None, show=lambda self: None))

    request = asked(geneva)

    assert (request.expires_at, request.facts) == (None, {})


def test_a_term_may_use_flow_control(geneva: gd.Drive) -> None:
    workflow = reach(geneva, refund(role=lambda self: self.skip()))

    assert (workflow.state, requests_of(workflow)) == ("finished", [])
    assert history(workflow) == [("manager", "skipped", "skipped_by_flow_control")]


def test_a_pause_while_the_terms_are_evaluated_holds_the_request(geneva: gd.Drive) -> None:
    def role(self: Any) -> str:
        self.handle.pause()
        return "manager"

    workflow = reach(geneva, refund(role=role))
    assert (workflow.state, workflow.needs) == ("paused", "operator")
    assert requests_of(workflow) == [("manager", "pending")]

    asked(geneva).approve(by="ann")
    workflow.resume()
    drain(geneva)

    assert workflow.reload().state == "finished"


def test_a_cancel_while_the_terms_are_evaluated_cancels_the_request(geneva: gd.Drive) -> None:
    def role(self: Any) -> str:
        self.handle.cancel()
        return "manager"

    workflow = reach(geneva, refund(role=role))

    assert (workflow.state, requests_of(workflow)) == ("canceled", [("manager", "canceled")])
