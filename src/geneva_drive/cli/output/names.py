"""The names of nodes, items and cursors, as people read them."""

from __future__ import annotations

import json
import re
from typing import Any

from geneva_drive.drive.step_execution import Checkpoint, StepExecution

# The default repr of an object, alone or first in a list: its memory address means nothing.
_ADDRESS = re.compile(r"\[?<\S+ object at 0x[0-9a-fA-F]+>")

_LONGEST = 100  # characters of a cursor; `--json` has all of it


def name_of(execution: StepExecution) -> str:
    """Return the step name; for a partition or a worker, the node id, which has its number."""
    is_numbered = is_partition(execution) or execution.share is not None
    return execution.node_id if is_numbered else execution.step_name


def is_partition(execution: StepExecution) -> bool:
    return execution.node_id.startswith(f"{execution.step_name}[")


def share_words(execution: StepExecution, longest: int = _LONGEST) -> str:
    """Return the range of a batch worker, or the item of a map."""
    share = execution.share
    if share is None or not share.number:
        return ""
    if share.item != "null":
        return shortened(readable(share.item), longest)
    if share.size is not None:
        return f"{int(share.start):,} to {int(share.end):,}"
    return shortened(f"{readable(share.start)} to {readable(share.end)}", longest)


def item_words(skipped: Checkpoint) -> str:
    """Return the text of a skipped item, or its cursor if the text is a memory address."""
    item = skipped.item or ""
    if skipped.stored_cursor is None or not _ADDRESS.match(item):
        return item
    return cursor_words(skipped.stored_cursor)


def cursor_words(stored: str) -> str:
    return f"cursor {shortened(readable(stored), _LONGEST)}"


def shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}..."


def readable(stored: str, indent: int | None = None) -> str:
    """Return typed JSON without its types; a date, for example, becomes its text."""
    untyped = json.loads(stored, object_hook=_untyped)
    return json.dumps(untyped, indent=indent, ensure_ascii=False)


def _untyped(found: dict[str, Any]) -> Any:
    if "$type" not in found:
        return found
    value = found["value"]
    # [text, fold, zone]: the text is enough for people.
    is_listed = found["$type"] in ("datetime", "time") and isinstance(value, list)
    return value[0] if is_listed else value
