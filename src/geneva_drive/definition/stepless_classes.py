"""Warnings about classes without steps, which name methods that look like steps."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from geneva_drive.definition.definition import Definition
from geneva_drive.definition.metaclass import reserved_names
from geneva_drive.definition.workflow import Workflow


def warning_about(definition: Definition) -> str:
    """Return the warning for a class without steps, whose workflows finish immediately."""
    name = definition.workflow_class.__name__
    methods = [repr(method) for method in dict.fromkeys(_methods_like_steps(definition))]
    match methods:
        case []:
            way_out = "Decorate the methods that do its work with @gd.step"
        case [method]:
            way_out = f"Its method {method} looks like a step: decorate it with @gd.step"
        case [*others, last]:
            way_out = (
                f"Its methods {', '.join(others)} and {last} look like steps: decorate them with "
                f"@gd.step"
            )
    return f"{name} has no steps, so its workflow finished at once. {way_out}."


def _methods_like_steps(definition: Definition) -> Iterator[str]:
    conditions = [condition.test for condition in definition.cancel_conditions]
    for base in reversed(definition.workflow_class.__mro__):
        if not issubclass(base, Workflow) or base is Workflow:
            continue
        for name, value in vars(base).items():
            is_own = not name.startswith("_") and name not in reserved_names(Workflow)
            if is_own and name not in conditions and _takes_self(value):
                yield name


def _takes_self(value: object) -> bool:
    """True for a function that can be called as a step: with `self`, and `it` or a session."""
    if not inspect.isfunction(value):
        return False
    parameters = inspect.signature(value).parameters.values()
    required = [one for one in parameters if one.default is one.empty]
    return 0 < len(required) <= 2  # noqa: PLR2004 - self, and it or session
