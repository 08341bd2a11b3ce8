"""The checks of `geneva doctor`, each with what to do about a problem."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime

from sqlalchemy.exc import DBAPIError

from geneva_drive.cli.output.error_line import one_line
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.workflow import Workflow
from geneva_drive.document_lane import DOCUMENT_LANE
from geneva_drive.drive.compatibility import calls_of_documents
from geneva_drive.drive.drive import Drive
from geneva_drive.durations import describe
from geneva_drive.errors import NotCreated, NotMigrated, StorageError, TooNew
from geneva_drive.settings import mistyped
from geneva_drive.storage.dialects.health_check import Check, ok, problem, reminder
from geneva_drive.storage.health import health_checks as health
from geneva_drive.storage.schema import revisions
from geneva_drive.storage.schema.records import WorkerRecord
from geneva_drive.storage.store import Store

_NAMED = 10

Overdue = dict[tuple[str, str], int]  # due executions by type and queue


def examine(drive: Drive) -> Iterator[Check]:
    """Run all checks; if the database cannot be used, only report that."""
    try:
        store = drive.store
    except NotCreated as error:
        yield problem("database", str(error))
        return
    except (NotMigrated, TooNew) as error:
        yield ok("database", f"{drive.database_url} answers.")
        yield problem("tables", str(error))
        return
    except (StorageError, DBAPIError) as error:
        yield problem("database", one_line(error))
        return
    yield ok("database", f"{drive.database_url} answers.")
    yield ok("tables", f"They are at revision {revisions.HEAD}, which this version needs.")
    yield from health.examine(store, drive.settings, drive.clock)
    overdue = store.read(store.executions.overdue)
    workers = drive.workers
    yield from _workers(drive, workers)
    yield from _unserved(overdue, workers)
    yield from _schedules(drive, workers)
    yield from _untriggered(store, workers, drive.clock.now())
    yield from _documents(drive, workers)
    yield _dead_letters(store)
    yield _paused(drive)
    yield _retention(drive)
    yield from _variables(os.environ)


def _variables(environment: Mapping[str, str]) -> Iterator[Check]:
    for name, meant in mistyped(environment):
        found = f"{name} is set, but no setting has this name."
        yield reminder("environment", found, f"Did you mean {meant}?")


def _workers(drive: Drive, workers: list[WorkerRecord]) -> Iterator[Check]:
    alive = [worker.name for worker in workers if worker.is_alive]
    if alive:
        yield ok("workers", f"{_number(len(alive), 'worker')} alive: {', '.join(alive)}.")
    else:
        # Without work, no worker is needed: a fresh installation has no problem.
        workflows = drive.workflows(Workflow)
        waiting = workflows.ongoing().count() - workflows.paused().count()
        yield (problem if waiting else reminder)(
            "workers",
            f"No worker is alive, and {_number(waiting, 'workflow')} ongoing.",
            "Start one: `geneva worker --app package.module`.",
        )
    for worker in workers:
        if worker.is_alive and worker.trouble:
            yield problem("trouble", f"{worker.name} waits for the database. {worker.trouble}")
        if worker.stopped_at is None and not worker.is_alive:
            since = f"{worker.heartbeat_at:%Y-%m-%d %H:%M:%S} UTC"
            yield problem(
                "silent worker",
                f"{worker.name} has sent no heartbeat since {since}.",
                "Check whether its process died or hangs. Another worker takes over its steps.",
            )


def _unserved(overdue: Overdue, workers: list[WorkerRecord]) -> Iterator[Check]:
    unserved = {
        each: count
        for each, count in sorted(overdue.items())
        if not any(worker.serves(*each) for worker in workers)
    }
    known = {name for name, _ in unserved if any(worker.knows(name) for worker in workers)}
    if not unserved:
        yield ok("classes", "Workers serve every class with due steps.")
    if unknown := {each: count for each, count in unserved.items() if each[0] not in known}:
        yield _unserved_classes(unknown)
    if known:
        yield _unserved_queues({each: unserved[each] for each in unserved if each[0] in known})


def _unserved_classes(unserved: Overdue) -> Check:
    counts: Counter[str] = Counter()
    for (name, _), count in unserved.items():
        counts[name] += count
    found = [f"{_class(name)} ({count} due)" for name, count in counts.items()]
    return problem(
        "classes",
        f"No worker serves {', '.join(found)}.",
        "Start one: `geneva worker`."
        if set(counts) == {DOCUMENT_LANE}
        else "Start a worker whose --app imports them.",
    )


def _unserved_queues(unserved: Overdue) -> Check:
    found = [
        f"{_class(name)} on queue {queue!r} ({count} due)"
        for (name, queue), count in unserved.items()
    ]
    queues = ",".join(sorted({queue for _, queue in unserved}))
    return problem(
        "queues",
        f"No worker serves {', '.join(found)}.",
        f"Start a worker for them: `geneva worker --queues {queues}`.",
    )


def _schedules(drive: Drive, workers: list[WorkerRecord]) -> Iterator[Check]:
    schedules = drive.schedules.list()
    firing = [one.type for one in schedules if one.seen_at is not None and one.next_at is not None]
    documents = set(drive.store.read(drive.store.definitions.names))
    unserved = [name for name in firing if not _is_known(name, documents, workers)]
    if unserved:
        yield problem(
            "schedules",
            f"No live worker has the class of {', '.join(unserved)}, so its runs do not start.",
            "Start a worker whose --app imports it, or `geneva schedules pause TYPE`.",
        )
    elif firing:
        yield ok("schedules", "Workers serve every schedule.")


def _untriggered(store: Store, workers: list[WorkerRecord], now: datetime) -> Iterator[Check]:
    """Report the classes that events should start, but that no worker has."""
    waiting = store.read(lambda connection: store.events.count_due_starts(connection, now))
    types = store.read(store.event_waits.triggered_types) | set(waiting)
    documents = set(store.read(store.definitions.names))
    unserved = sorted(name for name in types if not _is_known(name, documents, workers))
    if not unserved:
        return
    count = sum(waiting.get(name, 0) for name in unserved)
    waits = f"; {_number(count, 'start')} waiting" if count else ""
    yield (problem if count else reminder)(
        "triggers",
        f"Events should start {', '.join(unserved)}, but no worker has them{waits}.",
        "Start a worker whose --app imports them before the events expire.",
    )


def _is_known(name: str, documents: set[str], workers: list[WorkerRecord]) -> bool:
    """True if a worker can run workflows of this type; every worker can run documents."""
    type_name = DOCUMENT_LANE if name in documents else name
    return any(worker.knows(type_name) for worker in workers)


def _documents(drive: Drive, workers: list[WorkerRecord]) -> Iterator[Check]:
    """Report the actions and loaders that documents call, but that no worker has registered."""
    calls = calls_of_documents(drive)
    if not calls:
        return
    known = {
        name
        for worker in workers
        if worker.is_alive
        for name in worker.signatures.get(DOCUMENT_LANE, "").split(", ")
    }
    missing = [
        f"{document} calls the {name}"
        for document, names in calls.items()
        for name in sorted(names - known)
    ]
    if missing:
        more = f"; and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        yield problem(
            "documents",
            f"No live worker has registered what they call: {'; '.join(missing[:_NAMED])}{more}.",
            "Start a worker whose --app imports it.",
        )
    else:
        yield ok("documents", "Workers have registered every action and loader.")


def _class(type_name: str) -> str:
    return {DYNAMIC_TYPE: "dynamic workflows", DOCUMENT_LANE: "JSON workflows"}.get(
        type_name, type_name
    )


def _dead_letters(store: Store) -> Check:
    # A dead letter needs no attention if its workflow was resumed or canceled afterwards.
    held = store.read(store.dead_letters.holding)
    if not held:
        return ok("dead letters", "No workflow is paused by a dead letter.")
    more = ", ..." if len(held) > _NAMED else ""
    ids = ", ".join(str(workflow_id) for workflow_id in held[:_NAMED])
    return problem(
        "dead letters",
        f"{_number(len(held), 'workflow')} paused by a dead letter: {ids}{more}.",
        "`geneva dlq list` shows the causes. Fix them, then `geneva dlq retry`, skip or cancel.",
    )


def _paused(drive: Drive) -> Check:
    count = drive.workflows(Workflow).paused().count()
    if not count:
        return ok("paused", "No workflow is paused.")
    return reminder(
        "paused",
        f"{_number(count, 'workflow')} paused.",
        "`geneva list --state paused` lists them, `geneva why ID` shows the reason.",
    )


def _retention(drive: Drive) -> Check:
    span = drive.settings.retention
    if span is not None:
        return ok("retention", f"Workflows are deleted {describe(span)} after they end.")
    return reminder(
        "retention",
        "It is off: ended workflows are kept forever.",
        "Set GENEVA_RETENTION=90d, and workers delete ended workflows after 90 days.",
    )


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun} is" if count == 1 else f"{count:,} {noun}s are"
