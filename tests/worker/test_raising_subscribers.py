"""Whatever a subscriber does, the worker goes on committing."""

from __future__ import annotations

import sys

import pytest

import geneva_drive as gd


def test_a_subscriber_that_exits_does_not_end_the_committing(
    geneva: gd.Drive, caplog: pytest.LogCaptureFixture
) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    tasks = [Task.create() for _ in range(5)]
    geneva.events.subscribe(lambda _: sys.exit("enough"))

    geneva.worker(concurrency=2).run_until_idle()

    assert [task.reload().state for task in tasks] == ["finished"] * 5
    assert "Subscriber" in caplog.text
