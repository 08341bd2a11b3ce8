"""Opens the showroom: makes its history, then replaces itself with `geneva dev`."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from pathlib import Path

import click

import geneva_drive as gd
from geneva_drive.cli.demo.showroom.history import History
from geneva_drive.drive import default_drive

_APP = "geneva_drive.cli.demo.showroom.app"
_PROGRAM = "from geneva_drive.cli.main import main; main()"


def open_showroom(port: int) -> None:
    """Make the database in a temporary folder, and replace this process with `geneva dev`."""
    folder = Path(tempfile.mkdtemp(prefix="geneva-"))
    url = f"sqlite:///{folder / 'shop.db'}"
    click.echo("A shop opens: a week of its workflows is made in a few seconds ...")
    fill(url)
    click.echo(f"Its database is {url}. Its code: {Path(__file__).with_name('workflows.py')}")
    sys.stdout.flush()
    # Leave out the user's own settings, so that above all their database stays untouched.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GENEVA_")}
    command = ["dev", "--app", _APP, "--port", str(port), "--log-level", "warning"]
    os.chdir(folder)  # no file of the user's directory is watched, or can replace an import
    os.execve(
        sys.executable,
        [sys.executable, "-P", "-c", _PROGRAM, *command],
        {**environment, "GENEVA_DATABASE_URL": url},
    )


def fill(url: str) -> None:
    """Create the tables in a database, and the history of the shop."""
    logging.disable(logging.CRITICAL)  # the failures of the history are part of the story
    try:
        drive = gd.configure(url, sqlite_durability="normal")
        drive.migrate()
        History(drive).make()
    finally:
        default_drive.use(None)
        logging.disable(logging.NOTSET)
