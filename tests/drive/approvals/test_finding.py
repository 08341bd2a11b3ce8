"""Which requests are found, in which order, and what each shows."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, asked, reach


class Refund(gd.Workflow[Any]):
    type_name = "test_finding.Refund"

    @gd.approval(role=lambda self: self.context["role"])
    def manager(self, decision: Decision) -> None: ...


class Named(gd.Workflow[Any]):
    type_name = "test_finding.Named"

    @gd.approval(approvers=["ann", "bob"])
    def board(self, decision: Decision) -> None: ...


def requests(drive: gd.Drive, *roles: str) -> list[Any]:
    """Open a request for each role, and return their ids in that order."""
    workflows = [Refund.create(context={"role": role}) for role in roles]
    drain(drive)
    return [drive.approvals.of_workflow(one.id).ids()[0] for one in workflows]


def test_all_pending_requests_are_found_oldest_first(geneva: gd.Drive) -> None:
    ids = requests(geneva, "manager", "director", "manager")

    found = geneva.approvals.pending()

    assert found.ids() == sorted(ids)
    assert found.count() == 3


def test_pending_requests_are_found_by_role(geneva: gd.Drive) -> None:
    first, _, third = requests(geneva, "manager", "director", "manager")

    found = geneva.approvals.pending(role="manager")

    assert (found.ids(), found.count()) == (sorted([first, third]), 2)
    assert geneva.approvals.pending(role="clerk").ids() == []


def test_pending_requests_are_found_by_the_people_they_name(geneva: gd.Drive) -> None:
    requests(geneva, "ann")
    named = Named.create()
    drain(geneva)

    found = geneva.approvals.pending(person="ann")

    assert [one.workflow_id for one in found] == [named.id]
    assert (found.count(), geneva.approvals.pending(person="eve").count()) == (1, 0)


def test_role_and_person_together_select_what_fits_both(geneva: gd.Drive) -> None:
    requests(geneva, "manager")
    reach(geneva, Named)
    asked(geneva, "manager").delegate(to="bob", by="ann")

    assert geneva.approvals.pending(person="bob").count() == 2
    assert [one.step_name for one in geneva.approvals.pending("manager", "bob")] == ["manager"]


def test_what_was_decided_is_not_pending_any_more(geneva: gd.Drive) -> None:
    requests(geneva, "manager")
    reach(geneva, Named)

    asked(geneva, "manager").approve(by="eve")
    asked(geneva, "board").approve(by="ann")

    assert geneva.approvals.pending().ids() == []
    assert geneva.approvals.pending(role="manager").count() == 0
    assert geneva.approvals.pending(person="ann").count() == 0
    assert geneva.approvals.pending(person="bob").count() == 0


def test_pending_requests_are_read_page_by_page(geneva: gd.Drive) -> None:
    ids = sorted(requests(geneva, "manager", "manager", "manager"))
    found = geneva.approvals.pending(role="manager")

    assert found.limit(2).ids() == ids[:2]
    assert found.after(ids[1]).ids() == ids[2:]
    assert found.after(ids[0]).limit(1).ids() == [ids[1]]
    assert found.limit(0).ids() == []
    assert found.limit(2).count() == 2
    assert found.first() == geneva.approvals.get(ids[0])
    assert geneva.approvals.pending(role="clerk").first() is None


def test_more_than_a_page_of_requests_is_found(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = sorted(requests(geneva, *["manager"] * 5))
    monkeypatch.setattr("geneva_drive.drive.approvals.approvals._PAGE", 2)

    assert geneva.approvals.pending().ids() == ids
    assert geneva.approvals.pending().limit(3).ids() == ids[:3]


def test_a_request_is_found_by_its_id(geneva: gd.Drive) -> None:
    [key] = requests(geneva, "manager")

    assert geneva.approvals.get(key).step_name == "manager"
    assert geneva.approvals.get(str(key)).id == key


@pytest.mark.parametrize("unknown", [10**12, "nonsense", None], ids=repr)
def test_an_unknown_id_is_not_found(geneva: gd.Drive, unknown: object) -> None:
    with pytest.raises(gd.errors.NotFound) as refused:
        geneva.approvals.get(unknown)

    assert isinstance(refused.value, gd.errors.ApprovalNotFound)
    assert str(refused.value) == (
        f"There is no approval with id {unknown!r}. `geneva approvals` lists those that are "
        f"pending."
    )


def test_a_request_of_a_drive_with_uuid_keys_is_found_by_its_id(uuid_drive: gd.Drive) -> None:
    workflow = Refund.using(uuid_drive).create(context={"role": "manager"})
    drain(uuid_drive)
    request = asked(uuid_drive)

    decided = uuid_drive.approvals.get(str(request.id)).approve(by="ann")
    drain(uuid_drive)

    assert (decided.id, decided.state) == (request.id, "approved")
    assert workflow.reload().state == "finished"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"role": ""}, "pending(role=...) must not be empty."),
        ({"role": 5}, "pending(role=...) must be text, got 5."),
        ({"person": ["ann"]}, "pending(person=...) must be text, got ['ann']."),
    ],
    ids=["empty", "number", "list"],
)
def test_a_role_or_person_that_is_no_text_is_refused(
    sqlite_drive: gd.Drive, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refused:
        sqlite_drive.approvals.pending(**given)

    assert str(refused.value) == words


def test_every_request_of_a_workflow_is_found(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Named)
    workflow.rewind("board")
    drain(geneva)

    states = [one.state for one in geneva.approvals.of_workflow(workflow.id)]

    assert states == ["canceled", "pending"]


def test_a_request_leads_to_its_workflow(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Named)

    assert asked(geneva).workflow.id == workflow.id


def test_a_request_reads_as_its_id_step_and_state(geneva: gd.Drive) -> None:
    reach(geneva, Named)
    request = asked(geneva)

    assert repr(request) == f"<Approval {request.id} of 'board': pending>"
    assert len({request, asked(geneva)}) == 1
