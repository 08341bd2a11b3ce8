"""Waiting for what a worker does, through signals with a time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import geneva_drive as gd

TIME_LIMIT = 60.0

Event = gd.TelemetryEvent


class Watch:
    """Hears a Drive's events, and lets a test wait until it has heard enough."""

    def __init__(self, drive: gd.Drive) -> None:
        self._changed = threading.Condition()
        self._heard: list[Event] = []
        self.end = drive.events.subscribe(self._hear)

    def _hear(self, event: Event) -> None:
        with self._changed:
            self._heard.append(event)
            self._changed.notify_all()

    def steps(self, to_state: str) -> list[gd.StepChanged]:
        with self._changed:
            heard = list(self._heard)
        return [e for e in heard if isinstance(e, gd.StepChanged) and e.to_state == to_state]

    def workflows(self, to_state: str) -> list[gd.WorkflowChanged]:
        with self._changed:
            heard = list(self._heard)
        return [e for e in heard if isinstance(e, gd.WorkflowChanged) and e.to_state == to_state]

    def wait_for(self, enough: Callable[[], object], what: str) -> None:
        with self._changed:
            assert self._changed.wait_for(enough, TIME_LIMIT), f"Not heard of in time: {what}."

    def wait_for_workflows(self, count: int, to_state: str = "finished") -> None:
        self.wait_for(
            lambda: len(self.workflows(to_state)) >= count, f"{count} workflows {to_state}"
        )

    def wait_for_steps(self, count: int, to_state: str) -> None:
        self.wait_for(lambda: len(self.steps(to_state)) >= count, f"{count} steps {to_state}")


def wait(signal: threading.Event) -> None:
    """Wait for a signal; fails rather than hangs."""
    assert signal.wait(TIME_LIMIT), "The signal did not come in time."


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Look again and again, where nothing rings, until a deadline."""
    deadline = time.monotonic() + TIME_LIMIT
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"Did not happen in time: {what}."
        pause.wait(0.01)


def wait_until_draining() -> None:
    """Wait until the only worker of this process has begun to stop: its poller is gone."""
    wait_until(
        lambda: all(thread.name != "geneva-poller" for thread in threading.enumerate()),
        "the worker claims no more",
    )


def stop_during_a_step(drive: gd.Drive, begun: threading.Event, release: threading.Event) -> None:
    """Run a worker until a step has begun, and let the step end only when the worker stops."""
    worker = drive.worker()
    worker.start()
    wait(begun)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    wait_until_draining()
    release.set()
    stopping.join(TIME_LIMIT)


def rows_of(workflow: gd.WorkflowHandle[Any]) -> list[tuple[str, str, str | None]]:
    """Tell a workflow's executions as (step, state, outcome)."""
    return [(e.step_name, e.state, e.outcome) for e in workflow.step_executions]
