"""Whatever a subscriber does, the worker goes on committing."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.worker import performer


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


def test_a_step_that_is_committed_lands_although_nobody_could_be_told(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(performer, "announce", fail)

    class Task(gd.Workflow):
        @gd.step(transaction=True)
        def work(self, session: Any) -> None: ...

        @gd.step(transaction=True)
        def rest(self, session: Any) -> None: ...

    tasks = [Task.create() for _ in range(3)]

    geneva.worker(concurrency=1).run_until_idle()

    assert [task.reload().state for task in tasks] == ["finished"] * 3
    assert "a fault of ours" in caplog.text
