"""Write `docs/states.md` from `states.py`: python -m tests.architecture.states_page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from geneva_drive.states import (
    STEP_MOVES,
    WORKFLOW_MOVES,
    ApprovalState,
    StepState,
    WorkflowState,
)

S = TypeVar("S", bound=StrEnum)

PAGE = Path(__file__).parents[2] / "docs" / "states.md"

_VALUE = re.compile(r'^ +[A-Z_]+ = "(\w+)"(?:  # (.*))?$', re.MULTILINE)
_HEAD = """\
# States

The states of workflows, step executions and requests for approval, and the moves between them. The
engine refuses any other move.

This page is generated from `src/geneva_drive/states.py`. To change a phrase, edit its
comment there.
"""
_DERIVED = """\
`performing` and `paused` can also be derived when a workflow is read. A workflow whose row says
`ready` is shown as:

| shown as | if |
|---|---|
| `performing` | a step is running |
| `paused` | every active execution waits for a [person](approvals.md) or an [event](events.md) |
| `ready` | neither of these is true |
"""

# A request is decided once: `Approvals.update_pending` and `cancel` change only pending rows.
_APPROVAL_MOVES = {state: frozenset[ApprovalState]() for state in ApprovalState} | {
    ApprovalState.PENDING: frozenset(ApprovalState) - {ApprovalState.PENDING}
}


def render() -> str:
    return "\n".join(
        [
            _HEAD,
            *_section("Workflow", WorkflowState, WORKFLOW_MOVES, ["ready"]),
            _DERIVED,
            *_section("Step execution", StepState, STEP_MOVES, ["pending", "scheduled"]),
            *_section("Approval", ApprovalState, _APPROVAL_MOVES, ["pending"]),
        ]
    )


def _section(
    title: str, states: type[S], moves: Mapping[S, frozenset[S]], first: list[str]
) -> Iterator[str]:
    yield f"## {title}\n"
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield from (f"    [*] --> {state}" for state in first)
    for state in states:
        targets = moves.get(state, frozenset())
        yield from (f"    {state} --> {target}" for target in states if target in targets)
        if state in moves and not targets:
            yield f"    {state} --> [*]"
    yield "```\n"
    yield "| state | meaning |"
    yield "|---|---|"
    phrases = dict(_VALUE.findall(inspect.getsource(states)))
    yield from (f"| `{state}` | {phrases[state] or 'final'} |" for state in states)
    yield ""


if __name__ == "__main__":
    PAGE.write_text(render())
