"""Waits for events and callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack

from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.nodes.step import Step, decorate
from geneva_drive.definition.options import event_terms, options
from geneva_drive.definition.options.event_terms import EventTerms, OnEventTimeout
from geneva_drive.definition.options.keywords import CallbackWaitOptions, EventWaitOptions
from geneva_drive.definition.options.options import Options
from geneva_drive.definition.waits.event import Callback
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError, StepNotDefined

if TYPE_CHECKING:
    from geneva_drive.definition.definition import Definition, Node

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

_ANY_CALLBACK = "callback"  # the type of waits for callbacks, which name none


class EventWaitStep(Step[P, R], Generic[P, R]):
    """A wait for events or for a callback in a class body."""

    event_terms: EventTerms

    def __init__(
        self,
        kind: NodeKind,
        function: Callable[Concatenate[Any, P], R],
        opts: Options,
        terms: EventTerms,
        where: str,
    ) -> None:
        super().__init__(kind, function, opts, where)
        self.event_terms = terms

    def with_body(self, function: Callable[..., Any], where: str) -> EventWaitStep[Any, Any]:
        return EventWaitStep(self.kind, function, self.options, self.event_terms, where)


def wait_for_event(
    type: str | Sequence[str], /, **given: Unpack[EventWaitOptions]
) -> Callable[[Callable[Concatenate[Any, Any, P], R]], Step[Concatenate[Any, P], R]]:
    """Turn a method into a step that waits for an event, and runs once it has been published.

    `type` is the type of the event, or a list of types; one may end in `*`. The body is called with
    the `gd.Event`, or with a list of events for `mode="all"`. An event that was published before
    the step is reached counts, unless its `ttl` is over.

    >>> import geneva_drive as gd
    >>> from datetime import timedelta
    >>> class Order(gd.Workflow):
    ...     @gd.wait_for_event(
    ...         "payment.received",
    ...         key=lambda self: self.hero_id,
    ...         timeout=timedelta(days=3), on_timeout="cancel",
    ...     )
    ...     def payment(self, event): ...
    """
    with code_location.ending_at_caller:
        return decorate(  # type: ignore[no-any-return]  # a decorator
            NodeKind.EVENT, None, given, partial(_build, types=type)
        )


def wait_for_callback(
    **given: Unpack[CallbackWaitOptions],
) -> Callable[[Callable[Concatenate[Any, Callback, P], R]], Step[Concatenate[Callback, P], R]]:
    """Turn a method into a step that waits for an outside service to call a URL.

    An earlier step passes `self.callback_url("bank")` to the service. The body is called with the
    `gd.Callback` once the service has called the URL, even if that was before this step is reached.
    The setting `public_url` says where the service finds this application.

    >>> import geneva_drive as gd
    >>> from datetime import timedelta
    >>> class Transfer(gd.Workflow):
    ...     @gd.step
    ...     def order(self):
    ...         url = self.callback_url("bank")
    ...     @gd.wait_for_callback(timeout=timedelta(hours=1))
    ...     def bank(self, callback): ...
    """
    with code_location.ending_at_caller:
        return decorate(  # type: ignore[no-any-return]  # a decorator
            NodeKind.CALLBACK, None, given, partial(_build, types=_ANY_CALLBACK)
        )


def _build(
    kind: NodeKind,
    function: Callable[..., Any],
    given: Mapping[str, Any],
    where: str,
    *,
    types: object,
) -> EventWaitStep[Any, Any]:
    if "keep_result" in given:
        raise StepConfigurationError(
            f"keep_result is not an option of {kind.a_noun}: what it waits for is always kept, and "
            f"result_of reads it."
        )
    opts = options.parse(given, kind)
    terms = event_terms.parse(types, given)
    call_signatures.check_body(function, kind, transaction=opts.transaction)
    return EventWaitStep(kind, function, opts, terms, where)


def branches(definition: Definition, node: Node, *, timed_out: bool) -> tuple[str, ...] | None:
    """Return the direct dependants that run, in order of declaration; None for all of them."""
    task = node.event_terms.timeout_task
    if task is None:
        return None
    name = definition.require(task).name
    if timed_out:
        return (name,)
    return tuple(each for each in definition.graph.dependants[node.name] if each != name)


def check_branches(definition: Definition) -> None:
    """Raise an error if a wait names a task that does not depend on it."""
    for node in definition.nodes:
        if not node.is_event_wait or node.event_terms.on_timeout is not OnEventTimeout.TASK:
            continue
        with code_location.naming(f"{node.kind.noun.capitalize()} {node.name!r}", node.where):
            _check_task(definition, node)


def _check_task(definition: Definition, node: Node) -> None:
    task = node.event_terms.timeout_task
    try:
        found = definition.require(task)
    except StepNotDefined:
        raise StepConfigurationError(
            f"on_timeout takes 'pause', 'continue', 'cancel' or a task that depends on the wait, "
            f"and {definition.type} has no task {shown(task)}."
        ) from None
    if found.kind is not NodeKind.TASK or node.name not in found.depends_on:
        raise StepConfigurationError(
            f"on_timeout names {found.name!r}, which is not a task that depends on the wait. "
            f"Declare it with @gd.task(depends_on={node.name!r})."
        )
