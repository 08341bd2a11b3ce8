from __future__ import annotations

from datetime import timedelta

import geneva_drive as gd
from geneva_drive.testing import drain, time_travel
from tests.web.conftest import Ask
from tests.web.shop import Counting, Flaky, Parcel, Refund


def test_prometheus_reads_queues_workers_approvals_and_dead_letters(
    ask: Ask, geneva: gd.Drive
) -> None:
    Refund.using(geneva).create(context={"amount": 5, "customer": "Eve"})
    letter = Flaky.using(geneva).create()
    drain(geneva)
    geneva.dead_letters.add(letter, actor="ann")
    Parcel.using(geneva).create(context={"address": "Rue 1"}, queue='mail"\n')

    lines = ask("viewer").get("/metrics").text.splitlines()

    assert 'geneva_queue_due{queue="mail\\"\\n"} 1' in lines
    assert "geneva_approvals_pending 1" in lines
    assert 'geneva_dead_letters_pending{reason="manual"} 1' in lines
    assert "geneva_workers 0" in lines
    assert [line for line in lines if line.startswith("geneva_queue_oldest_due_seconds{")]


def test_prometheus_reads_ends_by_outcome_durations_and_checkpoints(
    ask: Ask, geneva: gd.Drive
) -> None:
    Flaky.using(geneva).create()
    client = ask("viewer")
    client.get("/metrics")  # what ended before the server began is not counted
    drain(geneva)
    Parcel.using(geneva).create(context={"address": "Rue 1"})
    Counting.using(geneva).create()
    drain(geneva)

    with time_travel(timedelta(minutes=1), drive=geneva):
        lines = client.get("/metrics").text.splitlines()
        again = client.get("/metrics").text.splitlines()

    assert 'geneva_executions_total{type="Parcel",outcome="success"} 1' in lines
    assert 'geneva_executions_total{type="Flaky",outcome="paused_by_exception"} 1' in lines
    assert 'geneva_step_duration_seconds_count{type="Parcel"} 1' in lines
    assert 'geneva_step_duration_seconds_bucket{type="Parcel",le="+Inf"} 1' in lines
    assert [line for line in lines if line.startswith("geneva_checkpoints_total{reason=")]
    assert [line for line in lines if "_total{" in line] == [
        line for line in again if "_total{" in line
    ]


def test_queues_and_workers_are_listed(ask: Ask, geneva: gd.Drive) -> None:
    Parcel.using(geneva).create(context={"address": "Rue 1"}, queue="mail")
    client = ask("viewer")

    [queue] = client.get("/api/v1/queues").json()["items"]
    with geneva.worker(queues=["other"]):
        [worker] = client.get("/api/v1/workers").json()["items"]

    assert (queue["queue"], queue["due"], queue["running"]) == ("mail", 1, 0)
    assert (worker["queues"], worker["is_alive"]) == (["other"], True)
    assert "Parcel" in worker["types"]
