"""The code of the workflow that the demo runs, with a mark at each step."""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from rich.syntax import Syntax
from rich.text import Text

from geneva_drive.cli.demo.marks import Mark, mark_of
from geneva_drive.cli.demo.snapshot import WorkflowSnapshot
from geneva_drive.states import StepState

Code = type | Callable[..., Any]  # a workflow class, or the function of a template

_MARK_AT = 2  # in the indentation of a class body
_LINES_ABOVE = 8  # the current step: its decorator


@cache
def lines_of(code: Code) -> tuple[Text, ...]:
    """Return the lines of the source, in colour and without the empty ones."""
    source = inspect.getsource(code)
    lines = Syntax(source, "python", theme="ansi_dark").highlight(source).split("\n")
    return tuple(line for line in lines if line.plain.strip())


def listing(code: Code, workflows: Sequence[WorkflowSnapshot], room: int) -> Text:
    """Mark the steps of these workflows in their code; show the lines around the current step."""
    states: defaultdict[str, list[StepState | None]] = defaultdict(list)
    for workflow in workflows:
        known = workflow.states()
        for name in workflow.step_names:
            states[name.rstrip("0123456789")] += known.get(name, [None])
    lines, current = list(lines_of(code)), 0
    for name, found in reversed(states.items()):
        place, mark = _place_of(name, lines), mark_of(found)
        if place is not None:
            line = lines[place]
            lines[place] = Text.assemble(line[:_MARK_AT], mark.text, line[_MARK_AT + 1 :])
            current = place if mark not in (Mark.DONE, Mark.SKIPPED) else current
    begin = max(0, min(current - min(_LINES_ABOVE, room // 2), len(lines) - room))
    return Text("\n", no_wrap=True, overflow="crop").join(lines[begin : begin + room])


def _place_of(step_name: str, lines: Sequence[Text]) -> int | None:
    """Return the line that defines the step, or else names the node of a template."""
    for pattern in (rf"def {step_name}\(", rf'"{step_name}'):
        for place, line in enumerate(lines):
            if re.search(pattern, line.plain):
                return place
    return None
