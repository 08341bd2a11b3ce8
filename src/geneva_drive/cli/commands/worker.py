"""`geneva worker`: run the steps of the app's workflow classes."""

from __future__ import annotations

import gc
import logging
import os
import sys

import click

from geneva_drive.cli.drive_options import DriveOptions, with_drive_options
from geneva_drive.cli.parameters import concurrency_option, log_level_option, parsed_by
from geneva_drive.cli.parameters import queues as parse_queues
from geneva_drive.cli.processes.lifeline import hold
from geneva_drive.cli.processes.log_setup import log_to_stderr
from geneva_drive.cli.processes.signals import PoliteStop
from geneva_drive.cli.processes.supervisor import Supervisor
from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.definition.dynamic import jobs
from geneva_drive.drive.drive import Drive
from geneva_drive.durations import describe
from geneva_drive.errors import InvalidInput
from geneva_drive.worker.worker import Worker

logger = logging.getLogger(__name__)

_DEFAULT_THRESHOLDS = gc.get_threshold()  # this module is imported before the app
_THRESHOLDS = (10_000, 20, 50)


class NothingToServe(InvalidInput):
    """A worker without workflow classes would wait forever."""

    def __init__(self, app: str | None) -> None:
        self.app = app
        super().__init__(
            f"The app {app!r} imports no workflow class, so a worker has nothing to run. In this "
            f"module, import those that define your workflows."
            if app
            else "A worker needs your code. Name the module that imports your workflow classes "
            "with --app package.module or GENEVA_APP."
        )


@click.command("worker")
@click.option(
    "--queues",
    metavar="A,B:N",
    callback=parsed_by(parse_queues),
    help="Serve only these queues; B:N runs at most N steps of B at once. [default: all]",
)
@concurrency_option
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many worker processes to run, each with this concurrency. Dead ones are replaced.",
)
@log_level_option
@click.option("--lifeline", type=int, hidden=True, help="Set by the supervisor.")
@with_drive_options
def command(
    options: DriveOptions,
    queues: dict[str, int | None] | None,
    concurrency: int,
    processes: int,
    log_level: str,
    lifeline: int | None,
) -> None:
    """Run the steps of the app's workflow classes until SIGTERM or Ctrl-C.

    After the first signal, running steps may finish within the setting drain_timeout; the second
    signal kills the worker. Another worker takes over steps that did not finish.
    """
    if processes > 1 and lifeline is None:
        _supervise(processes, log_level)
        return
    drive = options.drive()
    log_to_stderr(log_level, names_process=lifeline is not None)
    worker = drive.worker(queues=queues, concurrency=concurrency)
    if not worker.identity.has_user_code and not _has_documents(drive):
        raise NothingToServe(options.app)
    stop = _make_stop(drive, worker, is_supervised=lifeline is not None)
    stop.install()
    _collect_garbage_less()
    click.echo(_start_line(drive, worker, concurrency))
    if lifeline is not None:
        hold(lifeline, on_loss=lambda: _stop_without_supervisor(stop))
    worker.run()
    if worker.needs_recycling and not stop.was_requested:
        _restart(drive)
    logger.info("Worker %s stopped", worker.identity.name)


def _has_documents(drive: Drive) -> bool:
    """True if documents are deployed, which a worker can run without any class."""
    store = drive.store
    return bool(store.read(store.definitions.names))


def _collect_garbage_less() -> None:
    """Run the garbage collector less often, and exclude the objects that the app has loaded.

    With Python's defaults, a busy worker spends a sixth of its time in the collector. If the app
    has changed the thresholds, they stay.
    """
    if gc.get_threshold() == _DEFAULT_THRESHOLDS:
        gc.collect()
        gc.freeze()
        gc.set_threshold(*_THRESHOLDS)


def _supervise(processes: int, log_level: str) -> None:
    # Only the worker processes import the app.
    log_to_stderr(log_level, names_process=True)
    click.echo(f"Supervisor {os.getpid()} starts {processes} worker processes.")
    sys.stdout.flush()
    code = Supervisor(_own_command(), processes).run()
    logger.info("Supervisor %s stopped", os.getpid())
    click.get_current_context().exit(code)


def _make_stop(drive: Drive, worker: Worker, *, is_supervised: bool) -> PoliteStop:
    grace = f"running steps have {describe(drive.settings.drain_timeout)} to finish."
    notice = (
        f"Worker {worker.identity.name} is stopping: {grace}"
        if is_supervised
        else f"Stopping: {grace} A second signal kills the worker."
    )
    return PoliteStop(worker.request_stop, notice, is_supervised=is_supervised)


def _stop_without_supervisor(stop: PoliteStop) -> None:
    logger.warning("The supervisor died; the worker stops")
    stop.request()


def _start_line(drive: Drive, worker: Worker, concurrency: int) -> str:
    identity = worker.identity
    named = [
        f"{name} (at most {identity.caps[name]})" if name in identity.caps else name
        for name in sorted(identity.queues or ())
    ]
    served = [name for name in identity.served_types() if name not in RESERVED_TYPES]
    if jobs.names():
        served.append("dynamic workflows")
    if not served:
        served.append("JSON workflows")
    return (
        f"Worker {identity.name} on {drive.database_url}: "
        f"{'queues ' + ', '.join(named) if named else 'all queues'}, "
        f"{concurrency} at once, serves {', '.join(served)}."
    )


def _restart(drive: Drive) -> None:
    """Replace this process with a new one, to get rid of hanging threads."""
    logger.warning("Too many steps hang past their timeout; the worker restarts")
    drive.close()
    sys.stdout.flush()
    sys.stderr.flush()
    command = _own_command()
    os.execv(command[0], command)


def _own_command() -> list[str]:
    return [sys.executable, *sys.orig_argv[1:]]
