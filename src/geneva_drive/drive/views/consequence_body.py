"""The JSON body of what a command would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geneva_drive.drive.consequences.consequence import Consequence

_MOST_NODES = 100  # in a list; a graph may have 100,000


def consequence_body(one: Consequence) -> dict[str, Any]:
    return {
        "command": one.command,
        "node": one.node,
        "approval_id": None if one.approval_id is None else str(one.approval_id),
        "label": one.label,
        "sentence": one.sentence,
        "runs_next": _nodes(one.runs_next),
        "runs_later": _nodes(one.runs_later),
        "may_run": _nodes(one.may_run),
        "never_runs": _nodes(one.never_runs),
    }


def _nodes(ids: Sequence[str]) -> dict[str, Any]:
    return {"count": len(ids), "nodes": list(ids[:_MOST_NODES])}
