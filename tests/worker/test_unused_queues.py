"""The warning of a worker that serves a queue which its code does not use."""

from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.definition.dynamic import jobs
from geneva_drive.definition.workflow import definition_of
from geneva_drive.worker import unused_queues


class Mailing(gd.Workflow):
    type_name = "test_unused_queues.Mailing"
    queue = "mail"

    @gd.step
    def send(self) -> None: ...

    @gd.step(queue="reports")
    def report(self) -> None: ...


def test_a_queue_that_no_class_uses_is_told(caplog: pytest.LogCaptureFixture) -> None:
    unused_queues.warn_about(["mial", "reports"], [definition_of(Mailing)], [])

    assert caplog.messages == [
        "No workflow class, step or job of this worker uses queue 'mial'; they use 'mail', "
        "'reports'. The worker runs only workflows that are created with queue='mial'. If the name "
        "is misspelled, correct --queues or drive.worker(queues=...)."
    ]


def test_queues_of_classes_steps_and_jobs_are_used(caplog: pytest.LogCaptureFixture) -> None:
    with jobs.isolated():
        plain = gd.job(print, name="test_unused_queues.plain")
        bulky = gd.job(print, name="test_unused_queues.bulky", queue="bulk")

    unused_queues.warn_about(
        ["mail", "reports", "default", "bulk"], [definition_of(Mailing)], [plain, bulky]
    )

    assert caplog.messages == []


@pytest.mark.databases("sqlite")
def test_a_worker_looks_at_its_queues_when_it_starts(
    geneva: gd.Drive, caplog: pytest.LogCaptureFixture
) -> None:
    geneva.worker(queues=["mial", "mail"]).run_until_idle()

    told = [each for each in caplog.messages if each.startswith("No workflow class")]
    assert [each.partition(";")[0] for each in told] == [
        "No workflow class, step or job of this worker uses queue 'mial'"
    ]
