"""Waits: steps that run at a moment, computed when they are reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack

from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.nodes.step import Step, decorate
from geneva_drive.definition.options import options
from geneva_drive.definition.options.keywords import WaitOptions
from geneva_drive.definition.options.options import Options
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class WaitStep(Step[P, R]):
    """A wait in a class body."""

    until: Callable[[Any], object]

    def __init__(
        self,
        function: Callable[Concatenate[Any, P], R],
        opts: Options,
        until: Callable[[Any], object],
        where: str,
    ) -> None:
        super().__init__(NodeKind.WAIT, function, opts, where)
        self.until = until

    def with_body(self, function: Callable[..., Any], where: str) -> WaitStep[Any, Any]:
        return WaitStep(function, self.options, self.until, where)


def wait(
    **given: Unpack[WaitOptions],
) -> Callable[[Callable[Concatenate[Any, P], R]], Step[P, R]]:
    """Turn a method into a step that runs at `until(self)`, a datetime with a time zone.

    The moment is computed when the step is reached, and stored: a crash or a deploy does not change
    it. If it is in the past, the body runs immediately. While it waits, the workflow stays `ready`
    and needs no worker.

    >>> import geneva_drive as gd
    >>> from datetime import datetime, timedelta
    >>> class Reminder(gd.Workflow):
    ...     @gd.wait(until=lambda self: datetime.fromisoformat(self.context["due"]))
    ...     def remind(self): ...
    """
    with code_location.ending_at_caller:
        return decorate(NodeKind.WAIT, None, given, _build)  # type: ignore[no-any-return]  # a decorator


def _build(
    kind: NodeKind, function: Callable[..., Any], given: Mapping[str, Any], where: str
) -> WaitStep[Any, Any]:
    opts = options.parse(given, kind)
    until = given.get("until")
    if not callable(until):
        raise StepConfigurationError(
            f"until takes a function of the workflow that returns a datetime, not {shown(until)}. "
            f"Write @gd.wait(until=lambda self: ...). For a fixed span, use @gd.step(wait=...)."
        )
    call_signatures.check_plain("until", until, "self")
    call_signatures.check_body(function, kind, transaction=opts.transaction)
    return WaitStep(function, opts, until, where)
