"""The cached list of workers, for the responses to starts: read at most once a second."""

from __future__ import annotations

import time

from geneva_drive.drive.drive import Drive
from geneva_drive.storage.schema.records import WorkerRecord

_KEPT_SECONDS = 1.0


class WorkerCache:
    """The workers of a Drive as they were within the last second."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._found: list[WorkerRecord] = []
        self._read_at = float("-inf")

    def get(self) -> list[WorkerRecord]:
        began = time.monotonic()
        if began - self._read_at > _KEPT_SECONDS:
            self._found = self._drive.workers
            self._read_at = began
        return self._found
