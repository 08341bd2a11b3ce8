"""One run of the demo in a temporary folder, and its report."""

from __future__ import annotations

import io
import math
import shlex
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

import geneva_drive as gd
from geneva_drive.cli.demo import batch_story, event_story, frame, promises, story
from geneva_drive.cli.demo.frame import Scene
from geneva_drive.cli.demo.marks import legend
from geneva_drive.cli.demo.processes import WorkerProcesses
from geneva_drive.cli.demo.promises import Promise
from geneva_drive.cli.demo.run import DemoFailed, DemoRun
from geneva_drive.cli.demo.snapshot import Kill, Snapshot
from geneva_drive.cli.exit_codes import ExitCode
from geneva_drive.cli.live.screen import Screen, is_redrawable
from geneva_drive.cli.processes.signals import interrupted_by_signals
from geneva_drive.errors import GenevaDriveError

_SMALLEST_WIDTH = 80
_SMALLEST_HEIGHT = 24
# The lease is short, so that the steps of a killed worker are recovered within seconds.
_SETTINGS = {
    "table_prefix": "geneva_drive_",
    "lease": "2.2s",
    "heartbeat_interval": "0.5s",
    "poll_interval": "0.1s",
    "drain_timeout": "3s",
    "max_recoveries": "3",
    "sqlite_durability": "normal",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A story, the check of its promises, and the commands that show more of its workflows."""

    tell: Callable[[DemoRun], list[Kill]]
    check: Callable[[gd.Drive, Snapshot, Sequence[Kill]], list[Promise]]
    to_explore: tuple[tuple[str, str], ...]


STORIES = {
    "shop": Story(
        tell=story.tell,
        check=promises.check,
        to_explore=(
            ("show", "close_ledger"),
            ("why", "Import"),
            ("history", "Checkout poster"),
            ("graph", "close_ledger"),
        ),
    ),
    "batch": Story(
        tell=batch_story.tell,
        check=batch_story.check,
        to_explore=(("show", "Reconcile march"), ("history", "Reconcile march")),
    ),
    "events": Story(
        tell=event_story.tell,
        check=event_story.check,
        to_explore=(("history", "PaidOrder calendar"), ("why", "PaidOrder canvas")),
    ),
}


def main(console: Console, name: str) -> int:
    with interrupted_by_signals() as stop_if_asked:
        folder = Path(tempfile.mkdtemp(prefix="geneva-"))
        try:
            return _run(console, STORIES[name], folder, stop_if_asked)
        except KeyboardInterrupt:
            shutil.rmtree(folder)
            console.print(
                "Interrupted. The workers have ended, and the demo's database is deleted."
            )
            return ExitCode.INTERRUPTED


def _run(console: Console, told: Story, folder: Path, stop_if_asked: Callable[[], None]) -> int:
    url = f"sqlite:///{folder / 'demo.db'}"
    workers = WorkerProcesses(folder, url, _SETTINGS)
    drive = gd.Drive(url, **_SETTINGS)
    try:
        console.print("Creating a database in a temporary folder ...")
        drive.migrate()
        screen = screen_on(console)
        run = DemoRun(drive, workers, console, screen, stop_if_asked)
        with closing(workers), screen or nullcontext():
            kills = told.tell(run)
        snapshot = run.look()
        checked = told.check(drive, snapshot, kills)
        if report(console, snapshot, checked, url, told.to_explore):
            return 0
    except (DemoFailed, GenevaDriveError) as error:
        console.print(Text(f"The demo failed. {error}", "bold red"))
    finally:
        drive.close()
    tail = [f"The last lines of {workers.log}:", *workers.log_tail()]
    console.print(Text("\n  ".join(tail)), soft_wrap=True)
    return 1


def screen_on(console: Console) -> Screen[Scene] | None:
    """Return the screen, or None if only the log can be printed: in a pipe or a small window."""
    is_large = console.width >= _SMALLEST_WIDTH and console.height >= _SMALLEST_HEIGHT
    is_suited = is_redrawable(console) and is_large and not console.options.ascii_only
    return Screen(console, frame.draw, is_passing=True) if is_suited else None


def report(
    console: Console,
    snapshot: Snapshot,
    checked: Sequence[Promise],
    database_url: str,
    to_explore: Sequence[tuple[str, str]],
) -> bool:
    """Print what happened, and whether each promise was kept; return whether all were."""
    lines = [_answer(promise) for promise in checked]
    faults = dict.fromkeys(fault for promise in checked for fault in promise.faults)
    lines += [Text(f"Wrong: {fault}", "bold red") for fault in faults]
    lines = [legend(), Text(), *lines, Text(), *_invitation(snapshot, database_url, to_explore)]
    # Long lines are left to the terminal, so that a command is copied whole.
    height = sum(max(1, math.ceil(line.cell_len / console.width)) for line in lines)
    # Three lines less: the head of the table, what `make demo` adds, and the prompt.
    room = console.height - height - 3 if console.is_terminal else sys.maxsize
    if isinstance(console.file, io.TextIOWrapper):
        console.file.reconfigure(errors="replace")  # an encoding may lack the marks
    console.print(frame.workflow_table(snapshot, room))
    for line in lines:
        console.print(line, soft_wrap=True)
    return not faults


def _answer(promise: Promise) -> Text:
    answer = ("no   ", "bold red") if promise.faults else ("yes  ", "bold green")
    return Text.assemble(answer, promise.text)


def _invitation(
    snapshot: Snapshot, database_url: str, to_explore: Sequence[tuple[str, str]]
) -> Iterator[Text]:
    """Yield the commands that show more about the most interesting workflows."""
    called = sys.argv[0]
    is_found = Path(called).name != "geneva" or shutil.which("geneva") == called
    geneva = "geneva" if is_found else called
    program = [geneva, "--database", database_url]
    ids = {workflow.title: str(workflow.id) for workflow in snapshot.workflows}
    yield Text("The database stays for you to explore, until you delete its folder:", "italic")
    yield Text(shlex.join([*program, "list"]))
    for command, title in to_explore:
        if title in ids:
            yield Text(shlex.join([*program, command, ids[title]]))
    yield Text(f"The code that you saw at work: {Path(__file__).with_name('workflows.py')}")
    yield Text(f"A dashboard of such workflows: {shlex.join([geneva, 'demo', 'dashboard'])}")
