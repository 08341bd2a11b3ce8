"""Shows a workflow until it will not change without a command."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext

from geneva_drive.cli.live.screen import Screen
from geneva_drive.cli.watch.observer import WorkflowObserver
from geneva_drive.cli.watch.views import View

_REST_SECONDS = 0.25


def watch(observer: WorkflowObserver, view: View, stop_if_asked: Callable[[], None]) -> None:
    with view if isinstance(view, Screen) else nullcontext():
        while True:
            sight = observer.look()
            view.show(sight)
            if sight.is_last:
                return
            rest()
            stop_if_asked()


def rest() -> None:
    """Wait before the next look."""
    time.sleep(_REST_SECONDS)
