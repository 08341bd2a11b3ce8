"""The hash of a node and of all that was done before it, as a proof of the order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from geneva_drive.states import is_done
from geneva_drive.storage.schema.records import ExecutionRecord


def ancestry_hash(node_id: str, parents: Iterable[str | None]) -> str:
    """Hash a node with the hashes of its done parents.

    A parent without one ended before hashes were kept, and is left out.
    """
    known = sorted(filter(None, parents))
    text = ":".join([node_id, *known])
    return _hash(text) if len(known) > 1 else _known_hash(text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# In a chain it is the same for all workflows of a class: none of their own values is part of it.
# Joins, which may have thousands of parents, would fill it.
_known_hash = lru_cache(maxsize=4096)(_hash)


def ancestry_mismatches(
    parents: Mapping[str, Sequence[str]], attempts: Mapping[str, Sequence[ExecutionRecord]]
) -> list[ExecutionRecord]:
    """Find executions whose ancestry hash is not that of what is recorded before them.

    `attempts` are those at each node, by its present id: they may have been made under another.
    """
    done = {node_id: _hash_of_done(records) for node_id, records in attempts.items()}
    wrong = []
    for node_id, records in attempts.items():
        if node_id not in parents:
            continue  # the graph no longer has it
        above = [done.get(parent) for parent in parents[node_id]]
        for record in records:
            own = record.node_id if record.share is None else record.step_name
            if record.ancestry_hash not in (None, ancestry_hash(own, above)):
                wrong.append(record)
    return wrong


def _hash_of_done(records: Sequence[ExecutionRecord]) -> str | None:
    """Give the hash of the latest attempt at a node that was done."""
    whole = [one for one in records if one.share is None and is_done(one.state, one.outcome)]
    latest = max(whole, key=lambda one: (one.created_at, one.attempt_number), default=None)
    return latest.ancestry_hash if latest else None
