"""`geneva serve`: the dashboard, the REST API, decision links and callbacks over HTTP."""

from __future__ import annotations

import os
import socket
import sys

import click

from geneva_drive.cli.drive_options import DriveOptions, with_drive_options
from geneva_drive.cli.processes.listener import listen
from geneva_drive.cli.processes.log_setup import log_to_stderr
from geneva_drive.cli.processes.loopback import LOOPBACK, is_loopback
from geneva_drive.cli.processes.public_path import below_public_path
from geneva_drive.cli.processes.server_libraries import NoServer
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import InvalidInput

_SECONDS_TO_STOP = 5  # then open streams are cut


class CannotListen(InvalidInput):
    """Another program has the port, or the address is not one of this machine."""

    def __init__(self, address: str, port: int, cause: str) -> None:
        self.address = address
        self.port = port
        super().__init__(
            f"geneva serve cannot listen at {address}, port {port}: {cause}. Choose others with "
            f"--host and --port."
        )


@click.command("serve")
@click.option("--host", default=LOOPBACK, show_default=True, help="The address to listen at.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port."
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The lowest level to log.",
)
@with_drive_options
def command(options: DriveOptions, host: str, port: int, log_level: str) -> None:
    """Serve the dashboard and the REST API until SIGTERM or Ctrl-C.

    It also serves decision links and callbacks. With --app, it can start workflows of your classes
    and check the data of forms. It runs no steps: start `geneva worker` for that.
    """
    drive = options.drive()
    log_to_stderr(log_level)
    try:
        import uvicorn

        from geneva_drive.web.app import asgi
    except ModuleNotFoundError as error:
        raise NoServer("serve", error.name) from error
    app = below_public_path(asgi(drive), drive.settings.public_url)
    address = host if _has_credentials(drive) else _address_without_credentials(host)
    listener = _listen(address, port)
    shown = f"[{address}]" if ":" in address else address
    port = listener.getsockname()[1]
    url = f"http://{shown}:{port}"
    click.echo(f"Serving {drive.database_url}: dashboard at {url}/, REST API at {url}/docs")
    sys.stdout.flush()
    config = uvicorn.Config(
        app,
        log_level="warning" if log_level == "info" else log_level,
        log_config=None,
        # The paths of decision links and callbacks are secrets, and belong in no log.
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SECONDS_TO_STOP,
    )
    uvicorn.Server(config).run(sockets=[listener])


def _listen(address: str, port: int) -> socket.socket:
    try:
        return listen(address, port)
    except OSError as error:
        raise CannotListen(address, port, os.strerror(error.errno or 0)) from error


def _has_credentials(drive: Drive) -> bool:
    settings = drive.settings
    if settings.jwt_secret is not None or settings.jwks is not None:
        return True
    return any(key.revoked_at is None for key in drive.keys.list())


def _address_without_credentials(host: str) -> str:
    """Print how to create the first key; return the loopback address to listen at until then."""
    click.echo(
        "There is no API key yet, so every request is answered with 401. Create one:\n"
        "    geneva keys create NAME --role admin"
    )
    if is_loopback(host):
        return host
    click.echo(
        f"Until then, it listens at {LOOPBACK} instead of {host}: create a key, then restart it."
    )
    return LOOPBACK
