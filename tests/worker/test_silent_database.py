"""A worker ends although the database does not even say that it is away."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import event

import geneva_drive as gd
from geneva_drive.worker import worker as worker_module
from tests.worker.conftest import MakeDrive
from tests.worker.watching import TIME_LIMIT, wait, wait_until


def test_stopping_waits_for_no_answer_without_end(
    geneva: gd.Drive, make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "_LAST_COMMIT", 0.2)
    drive = make_drive(drain_timeout="0s", poll_interval="10ms")
    reached, answer = threading.Event(), threading.Event()

    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    def keep_silent(*_: Any) -> None:
        reached.set()
        wait(answer)

    worker = drive.worker(concurrency=1)
    worker.start()
    event.listen(drive.engine, "checkout", keep_silent)
    wait(reached)
    stopping = threading.Thread(target=worker.stop, daemon=True)
    stopping.start()
    stopping.join(TIME_LIMIT)

    assert not stopping.is_alive()
    answer.set()
    wait_until(lambda: not _left_behind(), "the threads that were left behind end")


def _left_behind() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("geneva-")]
