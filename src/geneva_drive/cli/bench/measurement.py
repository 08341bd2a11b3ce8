"""The four measurements, with one worker in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta

from sqlalchemy import Connection

from geneva_drive.cli.bench.results import BenchResults, Workload, nearest_rank
from geneva_drive.cli.bench.tables import PREFIX
from geneva_drive.cli.bench.workflows import Measured, Meter, make_class
from geneva_drive.drive.drive import Drive
from geneva_drive.durations import describe
from geneva_drive.errors import GenevaDriveError
from geneva_drive.storage.health.commit_time import BareCommits

# Called with what is measured, how much is done, and the total. It may raise to stop the bench, so
# every waiting loop calls it repeatedly.
ReportProgress = Callable[[str, int, int], None]

_PATIENCE = timedelta(seconds=60)
_GROUP = 100  # workflows created in one transaction
_LOOK_SECONDS = 0.02
_LOOK_CLOSELY_SECONDS = 0.001


class Standstill(GenevaDriveError):
    """No step has run for a long time, so the bench gives up."""

    def __init__(self, what: str, ran: int, total: int, patience: timedelta) -> None:
        super().__init__(
            f"The bench is stuck at {what}: {ran:,} of {total:,} steps ran, then none for "
            f"{describe(patience)}. Run `geneva doctor` to find the cause."
        )


def measure(
    drive: Drive, workload: Workload, report: ReportProgress, patience: timedelta = _PATIENCE
) -> BenchResults:
    """Measure on a Drive whose tables are empty; call within `registry.isolated()`."""
    bare_commit = _bare_commit(drive, workload.commits, report)
    with drive.worker(concurrency=workload.concurrency):
        bench = _Bench(drive, report, patience)
        starts = bench.starts(workload.starts)
        chain_step = bench.chain_step(workload.chain)
        throughput = bench.throughput(workload)
    return BenchResults(
        bare_commit=bare_commit,
        start_p50=nearest_rank(starts, 50),
        start_p99=nearest_rank(starts, 99),
        chain_step=chain_step,
        throughput=throughput,
        workload=workload,
    )


def _bare_commit(drive: Drive, count: int, report: ReportProgress) -> timedelta:
    commits = BareCommits(drive.engine, f"{PREFIX}commits")
    taken = []
    for span in commits.time(count):
        taken.append(span)
        report("bare commits", len(taken), count)
    return nearest_rank(taken, 50)


class _Bench:
    """The measurements that need a running worker."""

    def __init__(self, drive: Drive, report: ReportProgress, patience: timedelta) -> None:
        self._drive = drive
        self._report = report
        self._patience = patience
        self._meter = Meter()

    def starts(self, count: int) -> list[timedelta]:
        """Start workflows one at a time on the idle worker; time each to its first step."""
        workflow_class = make_class("start", 1, self._meter)
        taken: list[timedelta] = []
        for _ in range(count):
            before = time.perf_counter()
            self._drive.workflows(workflow_class).create()
            self._await("starts", workflow_class, 1, (len(taken), count))
            taken.append(timedelta(seconds=self._meter.moments[0] - before))
            self._meter.moments.clear()
        return taken

    def chain_step(self, count: int) -> timedelta:
        """Run one workflow of many steps; return the mean time from a step to the next."""
        workflow_class = make_class("chain", count, self._meter)
        self._drive.workflows(workflow_class).create()
        self._await("one long chain", workflow_class, count)
        first, last = self._meter.moments[0], self._meter.moments[-1]
        self._meter.moments.clear()
        return timedelta(seconds=(last - first) / (count - 1))

    def throughput(self, workload: Workload) -> timedelta:
        workflow_class = make_class("many", workload.steps, self._meter)
        what, step_count = "many workflows", workload.workflows * workload.steps
        before = time.perf_counter()
        for start in range(0, workload.workflows, _GROUP):
            self._create(workflow_class, min(_GROUP, workload.workflows - start))
            self._report(what, len(self._meter.moments), step_count)
        self._await(what, workflow_class, step_count)
        return timedelta(seconds=time.perf_counter() - before)

    def _create(self, workflow_class: Measured, count: int) -> None:
        workflows = self._drive.workflows(workflow_class)

        def create(connection: Connection) -> None:
            for _ in range(count):
                workflows.create(session=connection)

        self._drive.store.write(create)
        self._drive.wake_workers()

    def _await(
        self,
        what: str,
        workflow_class: Measured,
        step_count: int,
        reported: tuple[int, int] | None = None,
    ) -> None:
        """Wait until every step ran and every workflow of the class has ended."""
        for ran in self._watch(what, step_count):
            self._report(what, *(reported or (ran, step_count)))
        ongoing = self._drive.workflows(workflow_class).ongoing()
        give_up_at = time.monotonic() + self._patience.total_seconds()
        while ongoing.count():
            self._report(what, *(reported or (step_count, step_count)))
            if time.monotonic() > give_up_at:
                raise Standstill(what, step_count, step_count, self._patience)
            time.sleep(_LOOK_CLOSELY_SECONDS)

    def _watch(self, what: str, step_count: int) -> Iterator[int]:
        """Yield how many steps have run, until all have."""
        seen, seen_at = 0, time.monotonic()
        while (ran := len(self._meter.moments)) < step_count:
            if ran > seen:
                seen, seen_at = ran, time.monotonic()
            elif time.monotonic() - seen_at > self._patience.total_seconds():
                raise Standstill(what, ran, step_count, self._patience)
            yield ran
            time.sleep(_LOOK_SECONDS)
        yield step_count
