"""Short documents for tests."""

from __future__ import annotations

from typing import Any

from geneva_drive.declarative import validator
from geneva_drive.declarative.document import Document


def written(*steps: dict[str, Any], **top: Any) -> dict[str, Any]:
    return {"workflow_id": "order", "version": "1", "name": "Order", "steps": [*steps], **top}


def parsed(*steps: dict[str, Any], **top: Any) -> Document:
    return validator.parse(written(*steps, **top))


def faults(*steps: Any, **top: Any) -> list[tuple[str, str]]:
    """Return the path and message of every fault; a top-level key that is `...` is left out."""
    document = {key: value for key, value in written(*steps, **top).items() if value is not ...}
    return [(fault.path, fault.message) for fault in validator.examine(document)[1]]


def allow(step_id: str = "end", **more: Any) -> dict[str, Any]:
    return {"id": step_id, "type": "action", "action": "allow", **more}


def block(step_id: str = "stop", **more: Any) -> dict[str, Any]:
    return {"id": step_id, "type": "action", "action": "block", **more}


def check(step_id: str, field: str, operator: str, value: Any, **more: Any) -> dict[str, Any]:
    condition = {"field": field, "operator": operator, "value": value}
    return {"id": step_id, "type": "condition", "condition": condition, **more}


def setting(step_id: str, path: str, value: Any, **more: Any) -> dict[str, Any]:
    actions = [{"type": "set", "path": path, "value": value}]
    return {"id": step_id, "type": "execute", "execute": actions, **more}
