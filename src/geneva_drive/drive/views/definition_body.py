"""The JSON body of a deployed document."""

from __future__ import annotations

from typing import Any

from geneva_drive.drive.definitions.definitions import DeployedDefinition
from geneva_drive.drive.views.execution_bodies import moment_body


def definition_body(deployed: DeployedDefinition) -> dict[str, Any]:
    """Return the body without the document itself."""
    steps = deployed.document["steps"]
    return {
        "name": deployed.name,
        "kind": "document",
        "version": deployed.version,
        "title": deployed.title,
        "enabled": deployed.enabled,
        "current": deployed.current,
        "queue": "default",
        "steps": [{"name": one["id"], "kind": one["type"]} for one in steps],
        "created_at": moment_body(deployed.created_at),
        "deployed_by": deployed.deployed_by,
    }
