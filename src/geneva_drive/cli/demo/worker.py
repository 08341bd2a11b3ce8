"""One worker process of the demo; it works until its standard input is closed."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable

from geneva_drive import configure
from geneva_drive.cli.demo import workflows  # noqa: F401 - a worker serves what it has imported

CONCURRENCY = 4


def main() -> None:
    # Ctrl-C reaches every process of the terminal; the demo ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    drive = configure()
    worker = drive.worker(concurrency=CONCURRENCY)
    threading.Thread(target=_wait_for_end, args=(worker.request_stop,), daemon=True).start()
    worker.run()
    drive.close()


def _wait_for_end(stop: Callable[[], None]) -> None:
    # Also the end of a demo that was killed itself closes the pipe: no worker outlives it.
    while os.read(sys.stdin.fileno(), 1024):
        pass
    stop()


if __name__ == "__main__":
    main()
