"""`geneva watch`: one workflow, live."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext

import click

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.live.screen import Screen
from geneva_drive.cli.output.console import make_console
from geneva_drive.cli.parameters import json_option, workflow_id_argument
from geneva_drive.cli.processes.signals import interrupted_by_signals
from geneva_drive.cli.watch import views
from geneva_drive.cli.watch.observer import WorkflowObserver
from geneva_drive.cli.watch.views import View
from geneva_drive.drive.drive import Drive

_REST_SECONDS = 0.25


@click.command("watch")
@workflow_id_argument
@json_option
@with_drive
def command(drive: Drive, workflow_id: str, as_json: bool) -> None:
    """Watch a workflow live until it has ended or needs an operator.

    In a pipe it prints a line for each change; with --json, a line of JSON.
    """
    observer = WorkflowObserver(drive, workflow_id)
    view = views.JsonView() if as_json else views.for_console(make_console())
    with interrupted_by_signals() as stop_if_asked:
        watch(observer, view, stop_if_asked)


def watch(observer: WorkflowObserver, view: View, stop_if_asked: Callable[[], None]) -> None:
    with view if isinstance(view, Screen) else nullcontext():
        while True:
            watched = observer.look()
            view.show(watched)
            if watched.is_last:
                return
            rest()
            stop_if_asked()


def rest() -> None:
    """Wait before the next look."""
    time.sleep(_REST_SECONDS)
