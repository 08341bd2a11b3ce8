"""Ancestry hashes: each proves which nodes were done before an execution was scheduled."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from geneva_drive.engine.transitions.batch_workers import whole_of
from geneva_drive.states import is_done
from geneva_drive.storage.schema.records import ExecutionRecord


def ancestry_hash(node_id: str, parents: Iterable[str | None]) -> str:
    """Return the hash of a node's id and its parents' hashes.

    A parent without a hash ended before hashes were stored, and is left out.
    """
    known = sorted(filter(None, parents))
    text = ":".join([node_id, *known])
    return _hash(text) if len(known) > 1 else _known_hash(text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# A chain's hashes are equal in all workflows of a class, so they are cached. Joins are not: with
# thousands of parents each, they would fill the cache.
_known_hash = lru_cache(maxsize=4096)(_hash)


def ancestry_mismatches(
    parents: Mapping[str, Sequence[str]], attempts: Mapping[str, Sequence[ExecutionRecord]]
) -> list[ExecutionRecord]:
    """Return executions whose ancestry hash does not match what is recorded before them.

    `attempts` are keyed by the node's present id, which a rename may have changed since.
    """
    done = {node_id: _hash_of_done(records) for node_id, records in attempts.items()}
    wrong = []
    for node_id, records in attempts.items():
        if node_id not in parents:
            continue  # removed from the graph
        above = [done.get(parent) for parent in parents[node_id]]
        for record in records:
            own = record.step_name if record.is_partition else whole_of(record)
            if record.ancestry_hash not in (None, ancestry_hash(own, above)):
                wrong.append(record)
    return wrong


def _hash_of_done(records: Sequence[ExecutionRecord]) -> str | None:
    # The workers of a batch have one hash, which is that of their node, even if all have failed.
    whole = [
        one
        for one in records
        if one.is_worker or (not one.is_partition and is_done(one.state, one.outcome))
    ]
    latest = max(whole, key=lambda one: (one.created_at, one.attempt_number), default=None)
    return latest.ancestry_hash if latest else None
