"""Child workflows: workflows that another workflow starts and waits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Unpack

from geneva_drive import checks
from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.definition.metaclass import WorkflowMeta
from geneva_drive.definition.nodes.declaration import DeclaredNode, NodeKind
from geneva_drive.definition.options import options
from geneva_drive.definition.options.keywords import ChildOptions
from geneva_drive.definition.options.options import Options
from geneva_drive.definition.workflow import Workflow
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput, StepConfigurationError
from geneva_drive.serialization import typed_json

if TYPE_CHECKING:
    from geneva_drive.definition.context_type import GivenContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """The workflow that `gd.child` starts, or `gd.map` for each item."""

    workflow_class: type[Workflow[Any, Any]] | str  # or its type
    hero: object = None  # or a callable of the parent; in a map, of the parent and the item
    context: Mapping[str, Any] | Callable[..., GivenContext | None] | None = None
    detached: bool = False
    timeout: timedelta | None = None  # the child is canceled after this time

    @property
    def name(self) -> str:
        return (
            self.workflow_class
            if isinstance(self.workflow_class, str)
            else self.workflow_class.__name__
        )


class ChildStep(DeclaredNode):
    """A child workflow in a class body."""

    child: Child

    def __init__(self, child: Child, opts: Options, where: str) -> None:
        super().__init__(NodeKind.CHILD, child.name, opts, where)
        self.child = child


def child(
    workflow_class: type[Workflow[Any, Any]] | str,
    *,
    hero: Callable[[Any], object] | object | None = None,
    context: Mapping[str, Any] | Callable[[Any], GivenContext | None] | None = None,
    detached: bool = False,
    **given: Unpack[ChildOptions],
) -> ChildStep:
    """Declare a step that runs another workflow, and completes when that workflow finishes.

    `hero` and `context` are values, or functions of the parent. To refer to a class that is defined
    later, pass its type. Canceling the parent cancels the child, unless it is `detached`.

    >>> import geneva_drive as gd
    >>> class Ship(gd.Workflow):
    ...     @gd.step
    ...     def pack(self): ...
    >>> class Order(gd.Workflow):
    ...     @gd.step
    ...     def charge(self): ...
    ...     ship = gd.child(Ship, hero=lambda self: self.hero)
    """
    with code_location.ending_at_caller:
        return _make(
            Child(workflow_class=workflow_class, hero=hero, context=context, detached=detached),
            given,
        )


def _make(declared: Child, given: ChildOptions) -> ChildStep:
    where = code_location.of_caller()
    check_class("gd.child", declared.workflow_class, where)
    with code_location.naming(f"Child workflow {declared.name!r}", where):
        check(declared, "self")
        opts = options.parse(given, NodeKind.CHILD)
    return ChildStep(declared, opts, where)


def check_class(option: str, value: object, where: str) -> None:
    """Raise an error if this is neither a workflow class nor the name of a type."""
    if isinstance(value, str) and value:
        with code_location.naming(option, where):
            options.name("the name of a type", value)
        return
    if not isinstance(value, WorkflowMeta) or value is Workflow:
        raise StepConfigurationError(
            f"{option} takes a workflow class or the name of its type, not {shown(value)}.", where
        )


def check(declared: Child, *arguments: str) -> None:
    """Check the terms of a child; its callables take these arguments."""
    checks.flag("detached", declared.detached, error=StepConfigurationError)
    if isinstance(declared.hero, type | str):
        raise StepConfigurationError(
            f"hero takes a record, a gd.HeroRef or a callable of {_OF[arguments]}, not "
            f"{shown(declared.hero)}."
        )
    if callable(declared.hero):
        call_signatures.check_plain("hero", declared.hero, *arguments)
    _check_context(declared.context, *arguments)


_OF = {("self",): "the parent", ("self", "item"): "the parent and the item"}


def _check_context(context: object, *arguments: str) -> None:
    if context is None:
        return
    if isinstance(context, Mapping):
        try:
            typed_json.dump(context, "context")
        except InvalidInput as error:
            raise StepConfigurationError(str(error)) from None
    elif callable(context) and not isinstance(context, type):
        call_signatures.check_plain("context", context, *arguments)
    else:
        raise StepConfigurationError(
            f"context takes a dict or a callable of {_OF[arguments]} that returns one, not "
            f"{shown(context)}."
        )
