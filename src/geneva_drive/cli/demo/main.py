"""One run of the demo in a temporary folder, and its report."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from pathlib import Path

from rich.console import Console
from rich.text import Text

import geneva_drive as gd
from geneva_drive.cli.demo import frame, promises, story
from geneva_drive.cli.demo.frame import Scene
from geneva_drive.cli.demo.processes import WorkerProcesses
from geneva_drive.cli.demo.promises import Promise
from geneva_drive.cli.demo.run import DemoFailed, DemoRun
from geneva_drive.cli.demo.snapshot import Snapshot
from geneva_drive.cli.exit_codes import ExitCode
from geneva_drive.cli.live.screen import Screen, is_redrawable
from geneva_drive.cli.signals import interrupted_by_signals
from geneva_drive.errors import GenevaDriveError

_SMALLEST_WIDTH = 80
_SMALLEST_HEIGHT = 24
# A short lease: a killed worker's steps are recovered within seconds, as the story needs it.
_SETTINGS = {
    "table_prefix": "geneva_drive_",
    "lease": "2.2s",
    "heartbeat_interval": "0.5s",
    "poll_interval": "0.1s",
    "drain_timeout": "3s",
    "max_recoveries": "3",
    "sqlite_durability": "normal",
}


def main(console: Console) -> int:
    try:
        with (
            interrupted_by_signals() as stop_if_asked,
            tempfile.TemporaryDirectory(prefix="geneva-demo-") as folder,
        ):
            return _run(console, Path(folder), stop_if_asked)
    except KeyboardInterrupt:
        console.print("Interrupted. The workers have ended, and the demo's database is deleted.")
        return ExitCode.INTERRUPTED


def _run(console: Console, folder: Path, stop_if_asked: Callable[[], None]) -> int:
    url = f"sqlite:///{folder / 'demo.db'}"
    workers = WorkerProcesses(folder, url, _SETTINGS)
    drive = gd.Drive(url, **_SETTINGS)
    try:
        console.print("Creating a database in a temporary folder ...")
        drive.migrate()
        screen = screen_on(console)
        run = DemoRun(drive, workers, console, screen, stop_if_asked)
        with closing(workers), screen or nullcontext():
            kills = story.tell(run)
        snapshot = run.look()
        if report(console, snapshot, promises.check(drive, snapshot, kills)):
            return 0
    except (DemoFailed, GenevaDriveError) as error:
        console.print(Text(f"The demo failed. {error}", "bold red"))
    finally:
        drive.close()
    tail = ["The last lines of the workers' log:", *workers.log_tail()]
    console.print(Text("\n  ".join(tail)), soft_wrap=True)
    return 1


def screen_on(console: Console) -> Screen[Scene] | None:
    """Return the screen, or None if only the log can be printed: in a pipe or a small window."""
    is_large = console.width >= _SMALLEST_WIDTH and console.height >= _SMALLEST_HEIGHT
    is_suited = is_redrawable(console) and is_large and not console.options.ascii_only
    return Screen(console, frame.draw) if is_suited else None


def report(console: Console, snapshot: Snapshot, checked: Sequence[Promise]) -> bool:
    """Print what happened, and whether each promise was kept; return whether all were."""
    console.print(Text("\nWhat happened, read from the database", "italic"))
    console.print(frame.workflow_table(snapshot, room=len(snapshot.workflows)))
    console.print()
    # In a pipe, each promise is one line.
    soft_wrap = not console.is_terminal
    for promise in checked:
        answer = "no" if promise.faults else "yes"
        console.print(Text(f"{promise.text}: {answer}", "bold"), soft_wrap=soft_wrap)
    faults = dict.fromkeys(fault for promise in checked for fault in promise.faults)
    for fault in faults:
        console.print(Text(f"Wrong: {fault}", "bold red"), soft_wrap=soft_wrap)
    if not faults:
        code = Path(__file__).with_name("workflows.py")
        console.print(f"\nThe code that you saw at work: {code}", soft_wrap=soft_wrap)
        console.print("How to write your own: README.md. All commands: geneva --help")
    return not faults
