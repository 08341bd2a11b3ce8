"""Metrics in the text format of Prometheus, read from the database at each scrape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse

from geneva_drive.drive.drive import Drive
from geneva_drive.drive.metrics import BUCKETS, Durations, EndCounters
from geneva_drive.states import ApprovalState
from geneva_drive.storage.statements.waits.approvals import ApprovalFilter
from geneva_drive.web.messages.documentation import text_answers
from geneva_drive.web.messages.parameters import CurrentDrive

router = APIRouter(tags=["metrics"])

_MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Sample = tuple[Mapping[str, str], float]


@router.get(
    "/metrics",
    operation_id="get_metrics",
    response_class=PlainTextResponse,
    responses=text_answers("text/plain"),
)
def get_metrics(request: Request, drive: CurrentDrive) -> PlainTextResponse:
    """Return the metrics; counters cover all workers since this server started."""
    counters: EndCounters = request.app.state.end_counters
    counters.read()
    lines = (*_lines(drive), *_counters(counters))
    text = "".join(line + "\n" for line in lines)
    return PlainTextResponse(text, media_type=_MEDIA_TYPE)


def _lines(drive: Drive) -> Iterator[str]:
    store, now = drive.store, drive.clock.now()
    queues = store.read(store.pages.queues)
    alive = [one for one in drive.workers if one.heard_within_lease and one.stopped_at is None]
    pending = ApprovalFilter(state=ApprovalState.PENDING)
    approvals = store.read(lambda connection: store.approvals.count(connection, pending))
    letters = drive.dead_letters.stats()
    yield from _gauge(
        "geneva_queue_due",
        "Step executions that are due and that no worker has claimed.",
        (({"queue": one.queue}, one.due) for one in queues),
    )
    yield from _gauge(
        "geneva_queue_oldest_due_seconds",
        "How long the oldest due step execution has been due.",
        (
            ({"queue": one.queue}, max(0.0, (now - one.oldest_due_at).total_seconds()))
            for one in queues
            if one.oldest_due_at is not None
        ),
    )
    yield from _gauge(
        "geneva_queue_running",
        "Step executions that are in progress.",
        (({"queue": one.queue}, one.running) for one in queues),
    )
    yield from _gauge("geneva_workers", "Workers that are alive.", [({}, len(alive))])
    yield from _gauge(
        "geneva_approvals_pending", "Requests that wait for a decision.", [({}, approvals)]
    )
    yield from _gauge(
        "geneva_dead_letters_pending",
        "Dead letters that wait for an operator.",
        (({"reason": str(reason)}, count) for reason, count in letters["by_reason"].items()),
    )


def _counters(counters: EndCounters) -> Iterator[str]:
    yield from _family(
        "counter",
        "geneva_executions_total",
        "Step executions that ended, by type and outcome.",
        (
            ({"type": name, "outcome": outcome}, count)
            for (name, outcome), count in sorted(counters.executions.items())
        ),
    )
    yield from _family(
        "counter",
        "geneva_checkpoints_total",
        "Checkpoints that were kept, by what they are for.",
        (({"reason": reason}, count) for reason, count in sorted(counters.checkpoints.items())),
    )
    yield "# HELP geneva_step_duration_seconds How long step executions ran, by type."
    yield "# TYPE geneva_step_duration_seconds histogram"
    for name, durations in sorted(counters.durations.items()):
        yield from _histogram(name, durations)


def _histogram(name: str, durations: Durations) -> Iterator[str]:
    family, label, total = "geneva_step_duration_seconds", f'type="{_escaped(name)}"', 0
    for bound, count in zip([*map(str, BUCKETS), "+Inf"], durations.counts, strict=True):
        total += count
        yield f'{family}_bucket{{{label},le="{bound}"}} {total}'
    yield f"{family}_sum{{{label}}} {_number(durations.total)}"
    yield f"{family}_count{{{label}}} {total}"


def _gauge(name: str, words: str, samples: Iterable[Sample]) -> Iterator[str]:
    return _family("gauge", name, words, samples)


def _family(kind: str, name: str, words: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        named = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"{name}{{{named}}} {_number(value)}" if named else f"{name} {_number(value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"
