"""`geneva worker`: run the steps of the app's workflow classes."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence

import click

from geneva_drive.cli.logging_setup import log_to_stderr
from geneva_drive.cli.opening import Opening, with_drive
from geneva_drive.cli.parameters import names, reading
from geneva_drive.cli.stopping import PoliteStop
from geneva_drive.drive.drive import Drive
from geneva_drive.durations import describe
from geneva_drive.errors import InvalidInput
from geneva_drive.worker.worker import Worker

logger = logging.getLogger(__name__)


class NothingToServe(InvalidInput):
    """A worker without workflow classes would wait for ever."""

    def __init__(self, app: str | None) -> None:
        self.app = app
        super().__init__(
            f"The app {app!r} imports no workflow class, so that a worker has nothing to run. "
            f"Import the modules that define them there."
            if app
            else "A worker runs your code: name the module that imports your workflow classes "
            "with --app package.module, or GENEVA_APP."
        )


@click.command("worker")
@click.option(
    "--queues",
    metavar="A,B",
    callback=reading(names),
    help="Only steps on these queues. [default: all]",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="How many steps to run at once.",
)
@with_drive
def command(drive: Drive, queues: tuple[str, ...] | None, concurrency: int) -> None:
    """Run the steps of the app's workflow classes until SIGTERM or Ctrl-C.

    The first signal lets running steps end (the setting drain_timeout says how long), the second
    ends at once. What did not end is taken over by another worker.
    """
    log_to_stderr()
    worker = drive.worker(queues=queues, concurrency=concurrency)
    types = worker.identity.served_types()
    if not types:
        raise NothingToServe(click.get_current_context().ensure_object(Opening).app)
    stop = PoliteStop(worker.request_stop, _notice(drive))
    stop.install()
    click.echo(_start_line(drive, worker, types, concurrency))
    worker.run()
    if worker.needs_recycling and not stop.was_requested:
        _start_anew(drive)
    logger.info("Worker %s stopped", worker.identity.name)


def _start_line(drive: Drive, worker: Worker, types: Sequence[str], concurrency: int) -> str:
    queues = worker.identity.queues
    served = "all queues" if queues is None else f"queues {', '.join(sorted(queues))}"
    return (
        f"Worker {worker.identity.name} on {drive.database_url}: {served}, "
        f"{concurrency} at once, serves {', '.join(types)}."
    )


def _notice(drive: Drive) -> str:
    grace = describe(drive.settings.drain_timeout)
    return f"Stopping: running steps have {grace} to end. A second signal ends at once."


def _start_anew(drive: Drive) -> None:
    """Become a new process in this one's place, without the threads that hang."""
    logger.warning("Too many steps hang past their timeout; the worker starts anew")
    drive.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
