"""The texts under "Copy as": for the shell, curl, Python and a test."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from geneva_drive.drive.handle.handle import WorkflowHandle

_LONGEST_CONTEXT = 20_000  # characters


@dataclass(frozen=True, slots=True)
class Copy:
    name: str
    text: str


def copies_of(workflow: WorkflowHandle[Any], address: str) -> tuple[Copy, ...]:
    """Return the texts that open this workflow elsewhere; `address` is the API's address."""
    # A larger context belongs in a file, and would be a large part of the page.
    is_small = len(workflow.stored_context) <= _LONGEST_CONTEXT
    url = shlex.quote(f"{address}/api/v1/executions/{workflow.id}")
    return (
        Copy("CLI", f"geneva show {shlex.quote(str(workflow.id))}"),
        Copy("curl", f'curl -H "Authorization: Bearer $GENEVA_KEY" {url}'),
        Copy("Python", f"workflow = gd.Workflow.find({workflow.id!r})"),
        *((Copy("pytest", _test(workflow)),) if is_small else ()),
    )


def _test(workflow: WorkflowHandle[Any]) -> str:
    name = workflow.type or "workflow"
    context = json.loads(workflow.stored_context)
    hero = ""
    if workflow.hero_type is not None:
        hero = f"hero=gd.HeroRef({workflow.hero_type!r}, {workflow.hero_id!r}), "
    return (
        f"def test_{name.lower()}_{workflow.id}(geneva):\n"
        f"    workflow = geneva.start({name!r}, {hero}context={context!r})\n\n"
        f"    speedrun(workflow)\n\n"
        f"    assert_workflow_state(workflow, {str(workflow.state)!r})\n"
    )
