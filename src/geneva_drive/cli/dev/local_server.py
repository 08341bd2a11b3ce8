"""The child process of `geneva dev`: a worker and a server, until it is stopped."""

from __future__ import annotations

import socket
import threading

import click
import uvicorn

from geneva_drive.cli.dev.open_access import LocalNamesOnly, local_actor
from geneva_drive.cli.processes.lifeline import hold
from geneva_drive.cli.processes.log_setup import log_to_stderr
from geneva_drive.cli.processes.signals import PoliteStop
from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.definition.dynamic import jobs
from geneva_drive.drive.drive import Drive
from geneva_drive.web.app import asgi
from geneva_drive.worker.worker import Worker

_SECONDS_TO_STOP = 1  # then open streams are cut


def work_and_serve(
    drive: Drive, concurrency: int, log_level: str, *, descriptor: int, lifeline: int
) -> None:
    """Run a worker, and serve on the inherited socket; return after a signal."""
    _migrate(drive)
    log_to_stderr(log_level)  # after the migration, because Alembic logs every detail
    _ = drive.environment  # checks the tables
    worker = drive.worker(concurrency=concurrency)
    server = _make_server(drive, log_level)

    def request_stop() -> None:
        server.should_exit = True
        worker.request_stop()

    stop = PoliteStop(request_stop, notice=None, is_supervised=True)
    stop.install()
    click.echo(_start_line(drive, worker))
    # Not on the main thread: there, uvicorn would install its own signal handlers.
    thread = threading.Thread(
        target=server.run, args=([socket.socket(fileno=descriptor)],), name="geneva-http"
    )
    thread.start()
    hold(lifeline, on_loss=stop.request)
    try:
        worker.run()
    finally:
        server.should_exit = True
        thread.join()


def _migrate(drive: Drive) -> None:
    """Create or upgrade the tables in a file; a server may be shared, so its tables stay."""
    if drive.engine.dialect.name != "sqlite":
        return
    before, after = drive.migrate()
    if before != after:
        click.echo(f"{drive.database_url} was migrated to revision {after}.")


def _make_server(drive: Drive, log_level: str) -> uvicorn.Server:
    actor = local_actor()
    config = uvicorn.Config(
        LocalNamesOnly(asgi(drive, authenticate=lambda _: actor)),
        log_level="warning" if log_level == "info" else log_level,
        log_config=None,
        # The paths of decision links and callbacks are secrets, and belong in no log.
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=_SECONDS_TO_STOP,
    )
    return uvicorn.Server(config)


def _start_line(drive: Drive, worker: Worker) -> str:
    served = [name for name in worker.identity.served_types() if name not in RESERVED_TYPES]
    if jobs.names():
        served.append("dynamic workflows")
    classes = (
        ", ".join(served)
        or "only JSON workflows; to serve your classes, name the module that imports them: --app"
    )
    return f"The worker on {drive.database_url} serves {classes}."
