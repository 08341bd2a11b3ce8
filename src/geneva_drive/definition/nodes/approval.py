"""Approvals: steps that wait for the decision of people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeVar,
    Unpack,
    overload,
)

from geneva_drive.definition.approval_decision import ApprovalDecision
from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.nodes.step import Step, decorate
from geneva_drive.definition.options import approval_terms, options
from geneva_drive.definition.options.approval_terms import ApprovalTerms
from geneva_drive.definition.options.keywords import ApprovalOptions
from geneva_drive.definition.options.options import Options

if TYPE_CHECKING:
    from geneva_drive.definition.definition import Definition, Node

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
F = TypeVar("F", covariant=True)
AnyData = dict[str, Any] | None  # of a decision without a form


class ApprovalStep(Step[P, R], Generic[P, R, F]):
    """What `gd.approval` leaves in the class body; `F` is the type of the decision's data."""

    terms: ApprovalTerms

    def __init__(
        self,
        function: Callable[Concatenate[Any, P], R],
        opts: Options,
        terms: ApprovalTerms,
        where: str,
    ) -> None:
        super().__init__(NodeKind.APPROVAL, function, opts, where)
        self.terms = terms

    def with_body(self, function: Callable[..., Any], where: str) -> ApprovalStep[Any, Any, F]:
        return ApprovalStep(function, self.options, self.terms, where)

    if TYPE_CHECKING:

        @overload
        def __get__(self, instance: None, owner: Any = None) -> ApprovalStep[P, R, F]: ...
        @overload
        def __get__(self, instance: Any, owner: Any = None) -> ApprovalMethod[P, R, F]: ...
        def __get__(self, instance: Any, owner: Any = None) -> Any: ...


if TYPE_CHECKING:

    class ApprovalMethod(Generic[P, R, F]):
        """An approval read from an instance: a method, from which `result_of` reads the form."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


@overload
def approval(
    function: Callable[Concatenate[Any, ApprovalDecision[F], P], R],
    /,
    *,
    form: type[F],
    **given: Unpack[ApprovalOptions],
) -> ApprovalStep[Concatenate[ApprovalDecision[F], P], R, F]: ...
@overload
def approval(
    function: Callable[Concatenate[Any, ApprovalDecision[AnyData], P], R],
    /,
    *,
    form: None = None,
    **given: Unpack[ApprovalOptions],
) -> ApprovalStep[Concatenate[ApprovalDecision[AnyData], P], R, AnyData]: ...
@overload
def approval(
    *, form: type[F], **given: Unpack[ApprovalOptions]
) -> Callable[
    [Callable[Concatenate[Any, ApprovalDecision[F], P], R]],
    ApprovalStep[Concatenate[ApprovalDecision[F], P], R, F],
]: ...
@overload
def approval(
    *, form: None = None, **given: Unpack[ApprovalOptions]
) -> Callable[
    [Callable[Concatenate[Any, ApprovalDecision[AnyData], P], R]],
    ApprovalStep[Concatenate[ApprovalDecision[AnyData], P], R, AnyData],
]: ...
def approval(function: Callable[..., Any] | None = None, /, **given: Any) -> Any:
    """Make a method a step that asks people to decide, and runs once they have.

    `role` or `approvers` says who decides. The body is called with a `gd.ApprovalDecision`, also
    after a rejection or an expiry, before `on_reject` or `on_timeout` acts. While it waits, an
    approval needs no worker: a crash or a deploy changes nothing.

    >>> import geneva_drive as gd
    >>> from datetime import timedelta
    >>> class Refund(gd.Workflow):
    ...     @gd.approval(
    ...         role="sales_manager",
    ...         ask="Refund {context[amount]} euros?",
    ...         timeout=timedelta(hours=24), on_timeout="escalate", escalate_to="director",
    ...         on_reject="apologize",
    ...     )
    ...     def manager_approval(self, decision): ...
    ...     @gd.task(depends_on=manager_approval)
    ...     def apologize(self): ...
    ...     @gd.task(depends_on=manager_approval)
    ...     def pay_back(self): ...
    """
    with code_location.ending_at_caller:
        return decorate(NodeKind.APPROVAL, function, given, _build)


def _build(
    kind: NodeKind, function: Callable[..., Any], given: Mapping[str, Any], where: str
) -> ApprovalStep[Any, Any, Any]:
    opts = options.parse(given, kind)
    terms = approval_terms.parse(given)
    call_signatures.check_body(function, kind, transaction=opts.transaction)
    return ApprovalStep(function, opts, terms, where)


def branches(
    definition: Definition, node: Node, *, rejected: bool, expired: bool
) -> tuple[str, ...] | None:
    """Return the direct dependants of an approval that run, in order of declaration.

    None if neither `on_reject` nor `on_timeout` names a task: then all of them run.
    """
    raise NotImplementedError
