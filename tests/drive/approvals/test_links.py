"""Links by which one person decides one request."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, Handle, StandingClock, asked, everything_stored, reach

HOUR = timedelta(hours=1)
ADDRESS = "https://shop.example/geneva/a/"


class Refund(gd.Workflow[Any]):
    type_name = "test_links.Refund"

    @gd.approval(
        role="manager",
        quorum=lambda self: self.context.get("quorum", 1),
        timeout=100 * HOUR,
        escalate_to="director",
        deny_self=True,
    )
    def manager(self, decision: Decision) -> None: ...


@pytest.fixture
def clock(linked: gd.Drive) -> StandingClock:
    linked.clock = clock = StandingClock()
    return clock


def token_for(request: gd.Approval, person: str = "ann", **options: Any) -> str:
    return request.link(for_=person, **options).removeprefix(ADDRESS)


def test_a_link_is_an_address_under_the_public_url(linked: gd.Drive) -> None:
    reach(linked, Refund)

    link = asked(linked).link(for_="ann@example.org")

    assert link.startswith(ADDRESS)
    assert len(link.removeprefix(ADDRESS)) >= 43


def test_a_link_leads_to_its_request_and_person(linked: gd.Drive) -> None:
    reach(linked, Refund)
    request = asked(linked)

    found = linked.approvals.by_link(token_for(request))

    assert (found.id, found.person, found.state) == (request.id, "ann", "pending")


def test_following_a_link_changes_nothing(linked: gd.Drive) -> None:
    reach(linked, Refund)
    token = token_for(asked(linked))
    before = everything_stored(linked)

    linked.approvals.by_link(token)

    assert everything_stored(linked) == before


def test_who_follows_a_link_decides_in_its_persons_name(linked: gd.Drive) -> None:
    workflow = reach(linked, Refund)
    token = token_for(asked(linked))

    decided = linked.approvals.by_link(token).approve(comment="Fine.")
    drain(linked)

    assert (decided.decided_by, workflow.reload().state) == ("ann", "finished")
    assert [(e.command, e.actor, e.reason) for e in decided.history] == [
        ("link", None, "for ann"),
        ("approve", "ann", "Fine."),
    ]


@pytest.mark.parametrize("by", ["eve", gd.Actor("eve", roles=["manager"])], ids=["text", "actor"])
def test_a_link_is_for_its_person_alone(linked: gd.Drive, by: Any) -> None:
    reach(linked, Refund)
    followed = linked.approvals.by_link(token_for(asked(linked)))

    with pytest.raises(gd.errors.InvalidInput) as refused:
        followed.approve(by=by)

    assert str(refused.value) == (
        f"This link to approval {followed.id} is for 'ann', and decide(by=...) names 'eve'. Leave "
        f"out by."
    )
    assert followed.reload().state == "pending"


def test_only_the_hash_of_a_link_is_stored(linked: gd.Drive) -> None:
    reach(linked, Refund)

    token = token_for(asked(linked))

    assert token not in repr(everything_stored(linked))


def test_two_people_have_two_links(linked: gd.Drive) -> None:
    reach(linked, Refund, context={"quorum": 2})
    first, second = token_for(asked(linked)), token_for(asked(linked), "bob")

    linked.approvals.by_link(first).approve()
    decided = linked.approvals.by_link(second).approve()

    assert [vote.by for vote in decided.votes] == ["ann", "bob"]
    assert decided.state == "approved"


def test_a_link_may_change_a_vote_until_the_quorum_is_complete(linked: gd.Drive) -> None:
    reach(linked, Refund, context={"quorum": 2})
    token = token_for(asked(linked))

    linked.approvals.by_link(token).approve()
    again = linked.approvals.by_link(token).approve(comment="Once more.")

    assert (again.state, len(again.votes)) == ("pending", 1)


def test_an_unknown_token_is_not_found(linked: gd.Drive) -> None:
    with pytest.raises(gd.errors.NotFound) as refused:
        linked.approvals.by_link("nonsense")

    assert str(refused.value) == "There is no such decision link. Was it copied whole?"


@pytest.mark.parametrize("token", [5, None, b"x"], ids=repr)
def test_a_token_that_is_no_text_is_refused(linked: gd.Drive, token: Any) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refused:
        linked.approvals.by_link(token)

    assert str(refused.value) == f"by_link() takes the token of a link, got {token!r}."


def cancel(request: gd.Approval, workflow: Handle, clock: StandingClock) -> None:
    workflow.cancel()


def expire(request: gd.Approval, workflow: Handle, clock: StandingClock) -> None:
    clock.advance(100 * HOUR)
    drain(workflow.drive)


def let_the_link_expire(request: gd.Approval, workflow: Handle, clock: StandingClock) -> None:
    clock.advance(72 * HOUR)


PASSED_ON = "the request was passed on to another person"
DEAD: dict[str, tuple[Callable[[gd.Approval, Handle, StandingClock], Any], str]] = {
    "approved": (lambda request, *_: request.approve(by="bob"), "the request is approved"),
    "rejected": (lambda request, *_: request.reject(by="bob"), "the request is rejected"),
    "escalated": (lambda request, *_: request.escalate(by="bob"), PASSED_ON),
    "delegated": (lambda request, *_: request.delegate(to="eve", by="bob"), PASSED_ON),
    "canceled": (cancel, "the request is canceled"),
    "expired": (expire, "the request is expired"),
    "its own time is over": (let_the_link_expire, "it has expired"),
}


@pytest.mark.parametrize("cause", DEAD)
def test_a_dead_link_says_why(linked: gd.Drive, clock: StandingClock, cause: str) -> None:
    workflow = reach(linked, Refund)
    request = asked(linked)
    token = token_for(request)
    act, words = DEAD[cause]
    act(request, workflow, clock)

    with pytest.raises(gd.errors.InvalidStateError) as refused:
        linked.approvals.by_link(token)

    assert str(refused.value) == (f"The link to approval {request.id} cannot be used: {words}.")


BY_LINK: dict[str, Callable[[gd.Approval], Any]] = {
    "approve": lambda followed: followed.approve(),
    "escalate": lambda followed: followed.escalate(),
    "delegate": lambda followed: followed.delegate(to="zoe"),
}


@pytest.mark.parametrize("command", BY_LINK)
@pytest.mark.parametrize("cause", ["escalated", "delegated", "its own time is over"])
def test_a_link_that_died_while_its_page_was_open_changes_nothing(
    linked: gd.Drive, clock: StandingClock, cause: str, command: str
) -> None:
    workflow = reach(linked, Refund)
    request = asked(linked)
    followed = linked.approvals.by_link(token_for(request))
    act, words = DEAD[cause]
    act(request, workflow, clock)
    before = everything_stored(linked)

    with pytest.raises(gd.errors.InvalidStateError) as refused:
        BY_LINK[command](followed)

    assert str(refused.value) == (
        f"The link to approval {request.id} cannot be used: {words}. Ask for a new one."
    )
    assert everything_stored(linked) == before


def test_a_link_past_the_deadline_decides_nothing_before_a_worker_looks(
    linked: gd.Drive, clock: StandingClock
) -> None:
    reach(linked, Refund)
    token = token_for(asked(linked), expires_in=1000 * HOUR)
    clock.advance(100 * HOUR)

    with pytest.raises(gd.errors.InvalidStateError):
        linked.approvals.by_link(token).approve()


def test_a_link_lasts_as_long_as_was_asked(linked: gd.Drive, clock: StandingClock) -> None:
    reach(linked, Refund)
    token = token_for(asked(linked), expires_in="30m")
    clock.advance(timedelta(minutes=29))

    assert linked.approvals.by_link(token).person == "ann"


def test_a_link_for_who_may_not_decide_is_refused(linked: gd.Drive) -> None:
    workflow = reach(linked, Refund, actor="sam")
    request, before = asked(linked), everything_stored(linked)

    with pytest.raises(gd.errors.InvalidInput) as refused:
        request.link(for_="sam")

    assert str(refused.value) == (
        f"A link for 'sam' would be refused. 'sam' started workflow {workflow.id}, and its "
        f"approval 'manager' does not let people decide on their own request (deny_self). Ask "
        f"another person."
    )
    assert everything_stored(linked) == before


def test_a_link_needs_the_public_url(geneva: gd.Drive) -> None:
    reach(geneva, Refund)

    with pytest.raises(gd.errors.InvalidInput) as refused:
        asked(geneva).link(for_="ann")

    assert str(refused.value) == (
        "link() needs the setting public_url, the address under which people reach this "
        "installation, such as 'https://shop.example/geneva'."
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"for_": ""}, "link(for_=...) must not be empty."),
        ({"for_": 5}, "link(for_=...) must be text, got 5."),
        ({"for_": "ann", "expires_in": 0}, "link(expires_in=...) must be longer than zero, got 0."),
    ],
    ids=["empty", "number", "no time"],
)
def test_an_ill_formed_link_is_refused(linked: gd.Drive, given: dict[str, Any], words: str) -> None:
    reach(linked, Refund)

    with pytest.raises(gd.errors.InvalidInput) as refused:
        asked(linked).link(**given)

    assert str(refused.value) == words


def test_a_link_of_one_request_does_not_decide_the_next(linked: gd.Drive) -> None:
    workflow = reach(linked, Refund)
    token = token_for(asked(linked))
    workflow.rewind("manager")
    drain(linked)

    with pytest.raises(gd.errors.InvalidStateError):
        linked.approvals.by_link(token)

    assert asked(linked).state == "pending"
