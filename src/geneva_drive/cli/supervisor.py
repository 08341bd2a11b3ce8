"""Worker processes beneath one supervisor: started, watched, replaced and stopped together."""

from __future__ import annotations

import logging
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import FrameType
from typing import assert_never

from geneva_drive.cli.exit_codes import ExitCode
from geneva_drive.cli.lifeline import Lifeline
from geneva_drive.cli.signals import stop_signals
from geneva_drive.durations import describe
from geneva_drive.retry_delay import RetryDelay

logger = logging.getLogger(__name__)

_RESTART_DELAY = RetryDelay(timedelta(seconds=1), longest=timedelta(seconds=30))
_SETTLED = timedelta(seconds=30)  # who lived this long did not die of its start


@dataclass(slots=True, eq=False)
class _Place:
    """One of the N places; who works in it changes."""

    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    starts_at: float | None = None  # nobody works here until then
    quick_deaths: int = 0


@dataclass(frozen=True, slots=True)
class _Ended:
    place: _Place
    status: int


@dataclass(frozen=True, slots=True)
class _Serves:
    """Some process has come as far as serving."""


@dataclass(frozen=True, slots=True)
class _Signalled:
    number: int


_News = _Ended | _Serves | _Signalled


class Supervisor:
    """Keeps N processes of one command at work until a signal comes.

    The first signal lets them end politely, the second ends them at once. If the supervisor is
    killed itself, the lifeline's end stops them politely.
    """

    def __init__(self, command: Sequence[str], count: int) -> None:
        self._lifeline = Lifeline()
        self._command = [*command, "--lifeline", str(self._lifeline.handed_down)]
        self._places = [_Place() for _ in range(count)]
        # A signal's handler may put into it even while the same thread is taking from it.
        self._news: queue.SimpleQueue[_News] = queue.SimpleQueue()
        self._one_serves = False
        self._stopping = False
        self._exit_code: int = ExitCode.OK

    def run(self) -> int:
        """Work until a signal, or until the first process says that it cannot start at all."""
        for number in stop_signals():
            signal.signal(number, self._note_signal)
        self._lifeline.listen(lambda: self._news.put(_Serves()))
        # The first goes ahead: what is wrong with the app is said once, and not N times.
        self._places[0].starts_at = time.monotonic()
        self._start_due()
        while any(p.process or p.starts_at is not None for p in self._places):
            self._take_in_news()
            self._start_due()
        return self._exit_code

    def _note_signal(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - Python's signature
        self._news.put(_Signalled(number))

    def _take_in_news(self) -> None:
        starts = [p.starts_at for p in self._places if p.starts_at is not None]
        rest = max(0.0, min(starts) - time.monotonic()) if starts else None
        try:
            news = self._news.get(timeout=rest)
        except queue.Empty:
            return
        match news:
            case _Serves():
                self._start_all()
            case _Signalled(number):
                self._obey(number)
            case _Ended(place, status):
                self._bury(place, status)
            case _:
                assert_never(news)

    def _start_all(self) -> None:
        if self._one_serves or self._stopping:
            return
        self._one_serves = True
        for place in self._places[1:]:
            place.starts_at = time.monotonic()

    def _start_due(self) -> None:
        for place in self._places:
            if place.starts_at is not None and place.starts_at <= time.monotonic():
                self._start(place)

    def _start(self, place: _Place) -> None:
        # A process group of its own: Ctrl-C reaches the supervisor alone, which passes it on once.
        # Nobody could type at many processes: they find the end of their input, and never wait.
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            pass_fds=[self._lifeline.handed_down],
            process_group=0,
        )
        place.process, place.started_at, place.starts_at = process, time.monotonic(), None
        threading.Thread(
            target=lambda: self._news.put(_Ended(place, process.wait())), daemon=True
        ).start()

    def _bury(self, place: _Place, status: int) -> None:
        assert place.process is not None, "only a process ends"
        process_id, place.process = place.process.pid, None
        words = f"Worker process {process_id} {describe_status(status)}"
        if self._stopping:
            # One that had not come as far as its handlers held no work that it could lose.
            if status not in (0, -signal.SIGTERM):
                logger.warning("%s while it was to stop", words)
                self._exit_code = self._exit_code or ExitCode.UNEXPECTED
        elif status == ExitCode.USAGE and not self._one_serves:
            logger.error("%s, and would do so again; none is started", words)
            self._exit_code = status
        else:
            rest = self._rest_of(place)
            logger.warning("%s; another starts in %s", words, describe(rest))
            place.starts_at = time.monotonic() + rest.total_seconds()

    def _rest_of(self, place: _Place) -> timedelta:
        lived = timedelta(seconds=time.monotonic() - place.started_at)
        place.quick_deaths = 1 if lived >= _SETTLED else place.quick_deaths + 1
        return rest_after(place.quick_deaths)

    def _obey(self, number: int) -> None:
        if self._stopping:
            self._end_at_once(number)
        self._stopping = True
        for place in self._places:
            place.starts_at = None
        running = [p.process for p in self._places if p.process]
        for process in running:
            process.terminate()
        logger.info(
            "Stopping %s: running steps may end. A second signal ends at once",
            _number(len(running)),
        )

    def _end_at_once(self, number: int) -> None:
        for place in self._places:
            if place.process:
                place.process.kill()
        # As a worker ends by its second signal: the system tells the caller by which.
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def rest_after(quick_deaths: int) -> timedelta:
    """Say how long to wait before a process is replaced: ever longer if they die at once."""
    return timedelta(seconds=_RESTART_DELAY.before(quick_deaths))


def describe_status(status: int) -> str:
    """Word a status as `Popen` gives it."""
    if status >= 0:
        return f"ended with exit code {status}"
    return f"was ended by signal {-status} ({signal.strsignal(-status)})"


def _number(count: int) -> str:
    return f"{count} worker process" if count == 1 else f"{count} worker processes"
