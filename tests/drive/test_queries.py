"""Asking for workflows and step executions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import speedrun, time_travel
from tests.deploys import former_code

ADA = gd.HeroRef("Pilot", "ada")


class Delivery(gd.Workflow[Any]):
    type_name = "test_queries.Delivery"

    @gd.step
    def pack(self) -> None:
        act = ACTS.pop(self.id, None)
        if act:
            act()


ACTS: dict[Any, Any] = {}


@pytest.fixture
def one_of_each(geneva: gd.Drive) -> dict[str, Any]:
    """Ids of workflows, by the state that each is in."""
    finished = speedrun(Delivery.create()).id
    canceled = Delivery.create().cancel().id
    paused = Delivery.create(ADA).pause().id
    ready = Delivery.create().id
    return {"finished": finished, "canceled": canceled, "paused": paused, "ready": ready}


@pytest.mark.parametrize("state", ["ready", "paused", "finished", "canceled"])
def test_each_state_has_its_query(
    geneva: gd.Drive, one_of_each: dict[str, Any], state: str
) -> None:
    assert getattr(Delivery, state)().ids() == [one_of_each[state]]
    assert getattr(Delivery.using(geneva), state)().ids() == [one_of_each[state]]
    assert getattr(gd.Workflow, state)().ids() == [one_of_each[state]]


def test_a_workflow_is_performing_while_a_body_runs_and_not_ready(geneva: gd.Drive) -> None:
    seen: list[list[Any]] = []
    workflow = Delivery.create()
    ACTS[workflow.id] = lambda: seen.append(
        [Delivery.performing().ids(), Delivery.ready().ids(), Delivery.ongoing().ids()]
    )

    speedrun(workflow)

    assert seen == [[[workflow.id], [], [workflow.id]]]
    assert Delivery.performing().ids() == []


def test_ongoing_workflows_are_those_that_have_not_ended(
    geneva: gd.Drive, one_of_each: dict[str, Any]
) -> None:
    assert Delivery.ongoing().ids() == [one_of_each["paused"], one_of_each["ready"]]


def test_workflows_are_found_by_their_hero(geneva: gd.Drive, one_of_each: dict[str, Any]) -> None:
    assert Delivery.for_hero(ADA).ids() == [one_of_each["paused"]]
    assert Delivery.for_hero(gd.HeroRef("Pilot", "grace")).ids() == []


def test_queries_are_chained(geneva: gd.Drive, one_of_each: dict[str, Any]) -> None:
    assert Delivery.for_hero(ADA).ongoing().ids() == [one_of_each["paused"]]
    assert Delivery.for_hero(ADA).finished().ids() == []
    assert Delivery.ongoing().paused().limit(5).ids() == [one_of_each["paused"]]


def test_a_chained_query_leaves_the_one_before_as_it_was(
    geneva: gd.Drive, one_of_each: dict[str, Any]
) -> None:
    ongoing = Delivery.ongoing()
    ongoing.limit(1).for_hero(ADA)

    assert ongoing.count() == 2


def test_a_query_asks_when_it_is_read(geneva: gd.Drive) -> None:
    ready = Delivery.ready()
    Delivery.create()

    assert ready.count() == 1


def test_a_query_is_iterated_in_the_order_of_ids(geneva: gd.Drive) -> None:
    created = [Delivery.create(), Delivery.create(), Delivery.create()]

    assert list(Delivery.ready()) == created
    assert Delivery.ready().all() == created


def test_a_query_is_read_in_pages_of_any_number(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("geneva_drive.drive.search.queries._PAGE", 2)
    ids = [Delivery.create().id for _ in range(5)]

    assert [workflow.id for workflow in Delivery.ready()] == ids
    assert [workflow.id for workflow in Delivery.ready().limit(3)] == ids[:3]
    assert [workflow.id for workflow in Delivery.ready().limit(4)] == ids[:4]


def test_a_limit_holds_for_everything_that_is_read(geneva: gd.Drive) -> None:
    created = [Delivery.create(), Delivery.create(), Delivery.create()]
    limited = Delivery.ready().limit(2)

    assert limited.all() == created[:2]
    assert limited.ids() == [created[0].id, created[1].id]
    assert limited.count() == 2
    assert limited.first() == created[0]
    assert Delivery.ready().limit(0).all() == []
    assert Delivery.ready().limit(0).first() is None


def test_the_first_of_nothing_is_none(geneva: gd.Drive) -> None:
    assert Delivery.ready().first() is None
    assert Delivery.ready().all() == []
    assert Delivery.ready().count() == 0


def test_a_negative_limit_is_refused(geneva: gd.Drive) -> None:
    for query in (Delivery.ready(), geneva.executions()):
        with pytest.raises(gd.errors.InvalidInput) as refusal:
            query.limit(-1)

        assert str(refusal.value) == "The argument of limit() must be at least 0, got -1."


def test_a_parents_queries_include_its_subclasses(geneva: gd.Drive) -> None:
    class Express(Delivery): ...

    class Bike(Express): ...

    parent, child, grandchild = Delivery.create(), Express.create(), Bike.create()

    assert Delivery.ready().ids() == [parent.id, child.id, grandchild.id]
    assert Express.ready().ids() == [child.id, grandchild.id]
    assert Bike.ready().ids() == [grandchild.id]


def test_all_workflows_are_found_with_the_base_class(geneva: gd.Drive) -> None:
    class Other(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    ids = [Delivery.create().id, Other.create().id]

    assert gd.Workflow.ready().ids() == ids


def test_a_workflow_is_found_by_its_id_as_number_or_text(geneva: gd.Drive) -> None:
    workflow = Delivery.create()

    assert Delivery.find(workflow.id) == workflow
    assert Delivery.find(str(workflow.id)) == workflow
    assert gd.Workflow.find(workflow.id) == workflow


def test_a_parent_finds_a_subclasss_workflow_and_a_subclass_not_its_parents(
    geneva: gd.Drive,
) -> None:
    class Express(Delivery): ...

    parent, child = Delivery.create(), Express.create()

    assert Delivery.find(child.id) == child
    with pytest.raises(gd.errors.NotFound) as refusal:
        Express.find(parent.id)
    assert str(refusal.value) == (
        f"There is no Express workflow with id {parent.id}. `geneva list` shows all workflows."
    )


@pytest.mark.parametrize("workflow_id", [0, -1, 2**63, 2**200, "one", "", None, 1.5, True])
def test_an_id_that_no_workflow_has_is_not_found(geneva: gd.Drive, workflow_id: object) -> None:
    with pytest.raises(gd.errors.NotFound) as refusal:
        gd.Workflow.find(workflow_id)

    assert str(refusal.value) == (
        f"There is no workflow with id {workflow_id!r}. `geneva list` shows all workflows."
    )


def test_a_workflow_whose_class_is_gone_is_found_with_the_base_class(geneva: gd.Drive) -> None:
    with former_code():

        class Gone(gd.Workflow):
            queue = "mail"

            @gd.step
            def work(self) -> None: ...

        workflow_id = Gone.create(context={"n": 1}).id

    workflow = gd.Workflow.find(workflow_id)

    assert (workflow.type, workflow.workflow_class) == ("Gone", None)
    assert (workflow.state, workflow.next_step_name) == ("ready", "work")
    assert workflow.context == {"n": 1}
    assert gd.Workflow.ready().ids() == [workflow_id]


def test_a_workflow_whose_class_is_gone_can_be_paused_and_canceled(geneva: gd.Drive) -> None:
    with former_code():

        class Gone(gd.Workflow):
            @gd.step
            def work(self) -> None: ...

        workflow_id = Gone.create().id

    workflow = gd.Workflow.find(workflow_id)

    assert workflow.pause().state == "paused"
    assert workflow.resume().state == "ready"
    assert workflow.cancel().state == "canceled"


def test_what_needs_a_class_that_is_gone_says_so(geneva: gd.Drive) -> None:
    with former_code():

        class Gone(gd.Workflow):
            @gd.step
            def work(self) -> None: ...

        workflow_id = Gone.create().id

    with pytest.raises(gd.errors.NotFound) as refusal:
        gd.Workflow.find(workflow_id).resume_at("work")

    assert str(refusal.value) == (
        "No workflow class of type 'Gone' is imported in this process. Import its module first, "
        "or name it with --app or GENEVA_APP."
    )


def test_step_executions_are_queried_by_state_type_and_queue(geneva: gd.Drive) -> None:
    class Mailing(gd.Workflow):
        queue = "mail"

        @gd.step
        def send(self) -> None: ...

        @gd.step
        def file(self) -> None: ...

    mailing = speedrun(Mailing.create())
    delivery = Delivery.create()
    sent, filed = (e.id for e in mailing.step_executions)
    [packing] = (e.id for e in delivery.step_executions)

    assert geneva.executions().ids() == [sent, filed, packing]
    assert geneva.executions(state="completed").ids() == [sent, filed]
    assert geneva.executions(type="test_queries.Delivery").ids() == [packing]
    assert geneva.executions(queue="mail", state="scheduled").ids() == []
    assert geneva.executions(queue="mail").limit(1).ids() == [sent]


def test_step_executions_are_counted_iterated_and_limited(geneva: gd.Drive) -> None:
    for _ in range(3):
        Delivery.create()
    scheduled = geneva.executions(state=gd.StepState.SCHEDULED)

    assert (scheduled.count(), scheduled.limit(2).count()) == (3, 2)
    assert [e.step_name for e in scheduled] == ["pack", "pack", "pack"]
    assert scheduled.first() is not None
    assert scheduled.limit(0).first() is None
    assert geneva.executions(state="failed").first() is None


def test_the_newest_come_first_on_request_and_after_any_of_them(
    geneva: gd.Drive, one_of_each: dict[str, Any]
) -> None:
    oldest, second, third, newest = Delivery.using(geneva).query().ids()
    query = Delivery.using(geneva).query().newest_first()

    assert query.ids() == [newest, third, second, oldest]
    assert query.after(third).ids() == [second, oldest]
    assert query.after(str(third)).count() == 2
    assert query.after(third).limit(1).ids() == [second]
    assert Delivery.using(geneva).query().after(third).ids() == [newest]


def test_workflows_are_found_by_when_they_were_created(geneva: gd.Drive) -> None:
    Delivery.create()
    with time_travel(timedelta(hours=2)):
        late = Delivery.create()

    query = Delivery.using(geneva).query()

    assert query.created_since(late.created_at).ids() == [late.id]
    assert query.created_since(late.created_at - timedelta(days=1)).count() == 2
