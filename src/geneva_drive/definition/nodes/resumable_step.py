"""Resumable steps: methods that loop over many items and save their cursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from geneva_drive.definition.compiler import code_location
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.nodes.step import Step, decorate
from geneva_drive.definition.options.keywords import ResumableStepOptions

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


@overload
def resumable_step(
    function: Callable[Concatenate[Any, P], R], /, **given: Unpack[ResumableStepOptions]
) -> Step[P, R]: ...
@overload
def resumable_step(
    **given: Unpack[ResumableStepOptions],
) -> Callable[[Callable[Concatenate[Any, P], R]], Step[P, R]]: ...
def resumable_step(function: Callable[..., Any] | None = None, /, **given: Any) -> Any:
    """Turn a method into a step that loops over many items, and resumes where it stopped.

    Its second argument is a `gd.IterableStep`, or a `gd.AsyncIterableStep` for an `async def`. Its
    loops save their cursor as they go.

    >>> import geneva_drive as gd
    >>> from datetime import timedelta
    >>> class Campaign(gd.Workflow):
    ...     @gd.resumable_step(max_runtime=timedelta(minutes=5))
    ...     def send(self, it):
    ...         for address in it.iterate_over(self.context["addresses"]): ...
    """
    with code_location.ending_at_caller:
        return decorate(NodeKind.RESUMABLE, function, given)
