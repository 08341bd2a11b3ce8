"""One performance of the demo, from an empty folder to no folder."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

import geneva_drive as gd
from geneva_drive.cli.demo import report, story, views
from geneva_drive.cli.demo.processes import Crew
from geneva_drive.cli.demo.run import DemoFailed, Stage
from geneva_drive.cli.signals import interrupted_by_signals
from geneva_drive.errors import GenevaDriveError

_INTERRUPTED = 130
# A short lease, so that nobody has to watch a minute of silence after the kill.
_SETTINGS = {
    "table_prefix": "geneva_drive_",
    "lease": "2.2s",
    "heartbeat_interval": "0.5s",
    "poll_interval": "0.1s",
    "drain_timeout": "3s",
    "max_recoveries": "3",
    "sqlite_durability": "normal",
}


def perform(console: Console) -> int:
    try:
        with (
            interrupted_by_signals() as stop_if_asked,
            tempfile.TemporaryDirectory(prefix="geneva-demo-") as folder,
        ):
            return _perform(console, Path(folder), stop_if_asked)
    except KeyboardInterrupt:
        console.print("Interrupted. The workers are ended, and the demo's database is gone.")
        return _INTERRUPTED


def _perform(console: Console, folder: Path, stop_if_asked: Callable[[], None]) -> int:
    url = f"sqlite:///{folder / 'demo.db'}"
    crew = Crew(url, _SETTINGS, log=folder / "workers.log")
    drive = gd.Drive(url, **_SETTINGS)
    try:
        with crew:
            console.print("A database is made in a temporary folder ...")
            drive.migrate()
            with views.for_console(console, drive.clock.now()) as shown:
                stage = Stage(drive, crew, shown, stop_if_asked)
                kills = story.tell(stage)
        is_as_promised = report.report(console, stage.look(), stage.observer.effects(), kills)
        if is_as_promised:
            report.print_next(console)
            return 0
    except (DemoFailed, GenevaDriveError) as error:
        console.print(Text(f"The demo failed. {error}", "bold red"))
    finally:
        drive.close()
    _print_tail(console, crew)
    return 1


def _print_tail(console: Console, crew: Crew) -> None:
    lines = crew.log_tail()
    if lines:
        console.print("The last lines of the workers' log:")
    for line in lines:
        console.print(Text(f"  {line}"), soft_wrap=True)
