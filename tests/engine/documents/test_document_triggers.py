"""Events and schedules start workflows of documents, once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.testing import drain, time_travel
from tests.declarative.documents import allow, written
from tests.engine.documents.running import Handle, later

BY_EVENT = {"type": "event", "event": "order.placed"}
DAILY = {"type": "schedule", "cron": "0 9 * * *"}


def _deploy(drive: gd.Drive, trigger: dict[str, Any], **top: Any) -> None:
    drive.definitions.deploy(written(allow(), trigger=trigger, **top))


def _orders(drive: gd.Drive) -> list[Handle]:
    return [one for one in drive.workflows(gd.Workflow).query().all() if one.type == "order"]


def test_an_event_starts_one_workflow_with_its_payload(geneva: gd.Drive) -> None:
    _deploy(geneva, BY_EVENT)

    geneva.publish("order.placed", {"total": 7}, id="1", source="shop")
    geneva.publish("order.placed", {"total": 7}, id="1", source="shop")
    geneva.publish("order.paid", {"total": 7})
    for _ in range(2):
        geneva.housekeep()
        drain(geneva)

    [workflow] = _orders(geneva)
    assert (workflow.context, workflow.result) == ({"total": 7}, "allowed")


def test_another_process_starts_it_too(geneva: gd.Drive) -> None:
    other = gd.Drive(geneva.engine)
    other.housekeep()  # it has read that there is no document
    _deploy(geneva, BY_EVENT)
    geneva.publish("order.placed", {"total": 7})

    other.housekeep()
    other.housekeep()

    assert len(_orders(geneva)) == 1


def test_a_disabled_document_is_not_triggered(geneva: gd.Drive) -> None:
    _deploy(geneva, BY_EVENT)
    geneva.publish("order.placed", {"total": 1})
    geneva.definitions.disable("order")
    event = geneva.publish("order.placed", {"total": 2})
    geneva.housekeep()
    assert _orders(geneva) == []
    assert event.heard_by().started == []

    geneva.definitions.enable("order")
    geneva.publish("order.placed", {"total": 3})
    geneva.housekeep()

    totals = sorted(one.context["total"] for one in _orders(geneva))
    assert totals in ([3], [1, 3])


def test_the_trigger_of_the_current_version_counts(geneva: gd.Drive) -> None:
    _deploy(geneva, BY_EVENT)
    _deploy(geneva, {"type": "event", "event": "order.paid"}, version="2")

    geneva.publish("order.placed")
    geneva.publish("order.paid", {})
    geneva.housekeep()

    assert [one.definition_version for one in _orders(geneva)] == ["2"]


def test_an_event_that_does_not_fit_the_input_starts_nothing(geneva: gd.Drive) -> None:
    _deploy(geneva, BY_EVENT, input={"type": "object", "required": ["total"]})

    event = geneva.publish("order.placed", {})
    geneva.housekeep()

    assert _orders(geneva) == []
    assert "total" in event.heard_by().refused["order"]


def test_a_schedule_starts_workflows_and_stops_when_disabled(geneva: gd.Drive) -> None:
    _deploy(geneva, DAILY)
    [schedule] = geneva.schedules.list()
    assert (schedule.type, schedule.cron) == ("order", "0 9 * * *")

    later(geneva, timedelta(days=1))
    later(geneva, timedelta(days=1))
    assert len(_orders(geneva)) == 1
    assert geneva.schedules.run_now("order", actor="ann").workflow_id is not None

    geneva.definitions.disable("order")
    later(geneva, timedelta(days=3))
    assert len(_orders(geneva)) == 2

    with time_travel(timedelta(days=4), geneva):
        geneva.definitions.enable("order")
    later(geneva, timedelta(days=5))
    assert len(_orders(geneva)) == 3
