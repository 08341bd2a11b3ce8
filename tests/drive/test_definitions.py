"""Documents are deployed in versions, and workflows keep theirs."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.declarative.documents import allow, block, check, setting, written


def deploy(drive: gd.Drive, *steps: dict[str, Any], **top: Any) -> Any:
    return drive.definitions.deploy(written(*steps, **top))


def test_the_same_document_again_changes_nothing(geneva: gd.Drive) -> None:
    first = geneva.definitions.deploy(written(allow()), actor="ann")
    again = deploy(geneva, allow())

    assert (first.created, again.created) == (True, False)
    assert (again.name, again.version, again.title, again.deployed_by) == (
        "order",
        "1",
        "Order",
        "ann",
    )
    assert len(geneva.definitions.versions("order")) == 1


def test_another_content_under_a_version_is_refused(geneva: gd.Drive) -> None:
    deploy(geneva, allow())

    with pytest.raises(gd.errors.InvalidStateError, match="new version"):
        deploy(geneva, block())
    assert geneva.definitions.get("order").document["steps"][0]["action"] == "allow"


def test_a_bad_document_is_refused_with_all_its_faults(geneva: gd.Drive) -> None:
    with pytest.raises(gd.errors.StepConfigurationError) as refusal:
        deploy(geneva, check("big", "total", "gtx", 1, on_true="nowhere"), allow())

    assert {fault.path for fault in refusal.value.faults} == {
        "$.steps[0].condition.operator",
        "$.steps[0].on_true",
    }
    assert geneva.definitions.list() == []


def test_a_running_workflow_keeps_its_version(geneva: gd.Drive) -> None:
    wait = {"id": "manager", "type": "approval", "role": "manager"}
    deploy(geneva, wait, allow())
    old = geneva.start("order")
    drain(geneva)
    deploy(geneva, wait, block(reason="New rules"), version="2")
    new, pinned = geneva.start("order"), geneva.start("order", version="1")
    drain(geneva)
    for request in geneva.approvals.pending():
        request.approve(by="ann")
    drain(geneva)

    found = [(one.reload().definition_version, one.result) for one in (old, new, pinned)]
    assert found == [("1", "allowed"), ("2", "blocked"), ("1", "allowed")]
    assert [(one.version, one.current) for one in geneva.definitions.versions("order")] == [
        ("1", False),
        ("2", True),
    ]


def test_an_older_version_becomes_current_by_deploying_it_again(geneva: gd.Drive) -> None:
    deploy(geneva, allow())
    deploy(geneva, block(), version="2")

    assert deploy(geneva, allow()).created is False

    assert geneva.definitions.get("order").version == "1"
    assert [one.version for one in geneva.definitions.list()] == ["1"]


def test_a_disabled_document_starts_nothing(geneva: gd.Drive) -> None:
    deploy(geneva, setting("note", "a", 1))
    running = geneva.start("order")

    assert geneva.definitions.disable("order").enabled is False
    with pytest.raises(gd.errors.InvalidStateError, match="is disabled"):
        geneva.start("order")
    drain(geneva)
    assert running.reload().state == "finished"
    assert deploy(geneva, allow(), version="2").enabled is False

    geneva.definitions.enable("order")
    assert geneva.start("order").definition_version == "2"


def test_names_and_versions_that_do_not_exist(geneva: gd.Drive) -> None:
    deploy(geneva, allow())

    for call in (
        lambda: geneva.start("nobody"),
        lambda: geneva.start("order", version="9"),
        lambda: geneva.start("#json"),
        lambda: geneva.definitions.get("nobody"),
        lambda: geneva.definitions.enable("nobody"),
        lambda: geneva.definitions.versions("nobody"),
    ):
        with pytest.raises(gd.errors.NotFound):
            call()


def test_the_input_is_checked_at_the_start(geneva: gd.Drive) -> None:
    schema = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
    deploy(geneva, allow(), input=schema)

    with pytest.raises(gd.errors.InvalidInput, match="total"):
        geneva.start("order", context={"total": "ten"})
    with pytest.raises(gd.errors.InvalidInput, match="total"):
        geneva.start("order")
    assert geneva.start("order", context={"total": 10}).state == "ready"


def test_classes_start_by_name_too(geneva: gd.Drive) -> None:
    class Named(gd.Workflow):
        type_name = "NamedClass"

        @gd.step
        def only(self) -> None: ...

    workflow = geneva.start("NamedClass", context={"a": 1}, actor="ann", priority=3)

    assert (workflow.type, workflow.started_by, workflow.priority) == ("NamedClass", "ann", 3)
    assert workflow.definition_version is None
    with pytest.raises(gd.errors.StepConfigurationError, match="workflow class"):
        deploy(geneva, allow(), workflow_id="NamedClass")


def test_options_of_create_hold_for_documents(geneva: gd.Drive) -> None:
    deploy(geneva, allow())
    hero = gd.HeroRef("Order", 7)
    first = geneva.start("order", hero=hero, idempotency_key="once", queue="mail")

    assert geneva.start("order", hero=hero, idempotency_key="once").id == first.id
    with pytest.raises(gd.errors.AlreadyRunning):
        geneva.start("order", hero=hero)
    assert (first.queue, first.hero_id) == ("mail", "7")


def test_racing_deploys_of_one_version_store_one(geneva: gd.Drive) -> None:
    documents = [written(allow()), written(block())]
    answers: list[Any] = []
    barrier = threading.Barrier(6)

    def deploy_at_once(document: dict[str, Any]) -> None:
        barrier.wait()
        try:
            answers.append(geneva.definitions.deploy(document).created)
        except gd.errors.InvalidStateError:
            answers.append("refused")

    threads = [
        threading.Thread(target=deploy_at_once, args=(documents[number % 2],))
        for number in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(map(str, answers)) == ["False", "False", "True", *["refused"] * 3]
    assert len(geneva.definitions.versions("order")) == 1


def test_warnings_name_what_nobody_registered(geneva: gd.Drive) -> None:
    step = {"id": "send", "type": "execute", "execute": [{"type": "nobody_has_it"}]}

    [warning] = deploy(geneva, step).warnings

    assert warning.path == "$.steps[0].execute[0].type"


def test_deploying_documents_changes_no_claim(geneva: gd.Drive) -> None:
    worker = geneva.worker()
    before = list(worker.identity.served_types())

    for number in range(20):
        deploy(geneva, allow(), workflow_id=f"order_{number}")

    assert list(geneva.worker().identity.served_types()) == before
