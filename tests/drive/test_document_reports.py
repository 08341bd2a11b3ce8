"""Reports name a document by its type, not by the lane that all documents share."""

from __future__ import annotations

from datetime import timedelta

import geneva_drive as gd
from geneva_drive.drive.metrics import EndCounters
from geneva_drive.storage.statements.activity import ActivityMarks
from geneva_drive.testing import drain, time_travel
from tests.declarative.documents import setting
from tests.engine.documents.running import deploy, run


def test_a_failure_of_a_document_is_grouped_under_its_name(geneva: gd.Drive) -> None:
    deploy(geneva, setting("copy", "b", "{{a}}"))
    order = geneva.start("order")
    other = run(geneva, setting("copy", "b", "{{a}}"), workflow_id="other")

    [of_order, of_other] = sorted(geneva.failures(), key=lambda group: group.type or "")
    assert (of_order.type, of_order.sample_ids) == ("order", (order.id,))
    assert (of_other.type, of_other.sample_ids) == ("other", (other.id,))
    geneva.bulk("cancel", of_other.where)
    drain(geneva)
    assert (order.reload().state, other.reload().state) == ("paused", "canceled")


def test_a_document_that_sleeps_is_named_on_the_front_page(geneva: gd.Drive) -> None:
    run(geneva, {"id": "rest", "type": "wait", "duration": "1d"})

    timers = geneva.overview().outside.group("timers")

    assert timers is not None
    assert [(row.title, row.about) for row in timers.rows] == [("order", "rest")]


def test_due_documents_without_a_worker_are_json_workflows(geneva: gd.Drive) -> None:
    deploy(geneva, setting("a", "x", 1))
    geneva.start("order")

    unserved = geneva.overview().workers.group("unserved")

    assert unserved is not None
    assert [(row.title, row.about) for row in unserved.rows] == [("JSON workflows", "default")]


def test_ended_steps_are_counted_by_document(geneva: gd.Drive) -> None:
    store, now = geneva.store, geneva.clock.now()
    store.write(lambda c: store.activity.set_marks(c, ActivityMarks(now, now)))
    counters = EndCounters(geneva)
    run(geneva, setting("a", "x", 1), setting("b", "x", 2))
    run(geneva, setting("c", "x", "{{gone}}"), workflow_id="other")

    with time_travel(timedelta(minutes=2), geneva):
        geneva.housekeep()
        counters.read()
        charts = {name: geneva.activity(type=name) for name in ("order", "other", "#json")}

    assert counters.executions == {("order", "success"): 2, ("other", "paused_by_exception"): 1}
    assert [
        (name, sum(one.done for one in chart.buckets), sum(one.failed for one in chart.buckets))
        for name, chart in charts.items()
    ] == [("order", 2, 0), ("other", 0, 1), ("#json", 0, 0)]
