"""`geneva dev`: a worker, the API and the dashboard for development, with automatic reload."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from pathlib import Path

import click

from geneva_drive.cli.dev.reloader import Reloader
from geneva_drive.cli.dev.watched_files import roots_of
from geneva_drive.cli.drive_options import DriveOptions, with_drive_options
from geneva_drive.cli.parameters import concurrency_option, log_level_option
from geneva_drive.cli.processes.listener import listen
from geneva_drive.cli.processes.loopback import LOOPBACK, is_loopback
from geneva_drive.cli.processes.server_libraries import require_server
from geneva_drive.errors import InvalidInput

_SECRET_BYTES = 32


class NotOnThisMachine(InvalidInput):
    """`geneva dev` asks for no credentials, so only this machine may reach it."""

    def __init__(self, host: str) -> None:
        self.host = host
        super().__init__(
            f"geneva dev asks for no credentials, so it listens only on this machine (127.0.0.1), "
            f"not at {host!r}. For other machines, use geneva serve --host {host} with API keys."
        )


class PortNotFree(InvalidInput):
    """Another program listens on the port."""

    def __init__(self, port: int, reason: str) -> None:
        self.port = port
        super().__init__(
            f"Port {port} cannot be used: {reason}. Choose another: --port {port + 1}."
        )


@click.command("dev")
@click.option(
    "--host", default=LOOPBACK, show_default=True, help="The address to listen at; loopback only."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="The port; 0 for a free one.",
)
@concurrency_option
@log_level_option
@click.option("--lifeline", type=int, hidden=True, help="Set by the parent process.")
@click.option("--socket", "descriptor", type=int, hidden=True, help="Set by the parent process.")
@with_drive_options
def command(
    options: DriveOptions,
    host: str,
    port: int,
    concurrency: int,
    log_level: str,
    lifeline: int | None,
    descriptor: int | None,
) -> None:
    """Run a worker, the REST API and the dashboard, and reload when code changes.

    It needs no credentials and listens on this machine only. In an SQLite file, it creates or
    upgrades the tables first.
    """
    if lifeline is None or descriptor is None:
        _supervise(options.app, host, port)
        return
    # Imported here: only the child needs the web framework.
    from geneva_drive.cli.dev.local_server import work_and_serve

    drive = options.drive()
    work_and_serve(drive, concurrency, log_level, descriptor=descriptor, lifeline=lifeline)


def _supervise(app: str | None, host: str, port: int) -> None:
    # Only the child imports the app.
    if not is_loopback(host):
        raise NotOnThisMachine(host)
    require_server("dev")
    with open_port(host, port) as listening:
        address, taken = listening.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        reloader = Reloader(
            [sys.executable, *sys.orig_argv[1:]],
            listening,
            roots_of(app, Path.cwd()),
            environment={**_default_settings(), **os.environ},
            on_first_service=f"Open http://{shown}:{taken}/  (Ctrl-C ends it)",
        )
        click.get_current_context().exit(reloader.run())


def _default_settings() -> dict[str, str]:
    """Return settings for the child; those of the app or the environment win."""
    return {
        "GENEVA_DRAIN_TIMEOUT": "3s",  # a developer waits for each reload
        "GENEVA_SESSION_SECRET": secrets.token_hex(_SECRET_BYTES),  # forms outlive a reload
    }


def open_port(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raise `PortNotFree` if another program has the port."""
    try:
        return listen(host, port)
    except OSError as error:
        raise PortNotFree(port, os.strerror(error.errno) if error.errno else str(error)) from error
