"""W5: the time to import the package, and what an idle worker takes."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from statistics import median

from benchmarks.processes import run
from benchmarks.session import Session

_IMPORT = "import time; began = time.perf_counter(); import {}; print(time.perf_counter() - began)"
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_KIBI_PER_MEBI = 1_024


def import_time(package: str, times: int) -> float:
    """Give the median milliseconds of an import in fresh interpreters."""
    command = [sys.executable, "-c", _IMPORT.format(package)]
    return median(float(run(f"import {package}", command, {})) * 1_000 for _ in range(times))


def idle(session: Session, seconds: float) -> dict[str, float]:
    """Give the resident MiB and the share of a core, in percent, of an idle worker."""
    worker = session.workers[0].id
    # What the warm-up left to do is not idleness.
    time.sleep(1.0)
    ticks = _processor_ticks(worker)
    time.sleep(seconds)
    return {
        "memory": _resident_bytes(worker) / 2**20,
        "cpu": (_processor_ticks(worker) - ticks) / _TICKS / seconds * 100,
    }


def peak(session: Session) -> float:
    """Give the most resident MiB that a worker has had so far."""
    return (
        sum(_peak_kibibytes(member) for member in _family(session.workers[0].id)) / _KIBI_PER_MEBI
    )


def _family(process_id: int) -> list[int]:
    """A process with its descendants: some workers are a parent and its pool."""
    tasks = Path(f"/proc/{process_id}/task").iterdir()
    children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return [process_id, *(member for child in children for member in _family(child))]


def _resident_bytes(process_id: int) -> int:
    return sum(
        int(Path(f"/proc/{member}/statm").read_text().split()[1]) * _PAGE
        for member in _family(process_id)
    )


def _peak_kibibytes(process_id: int) -> int:
    status = Path(f"/proc/{process_id}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def _processor_ticks(process_id: int) -> int:
    total = 0
    for member in _family(process_id):
        # The name in parentheses may hold spaces; the fields after it are counted.
        fields = Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total
