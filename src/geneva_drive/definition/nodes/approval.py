"""Approvals: steps that wait for the decision of people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
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

from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.nodes.step import Step, decorate
from geneva_drive.definition.options import approval_terms, options
from geneva_drive.definition.options.approval_terms import ApprovalTerms, OnReject, OnTimeout
from geneva_drive.definition.options.keywords import ApprovalOptions
from geneva_drive.definition.options.options import Options
from geneva_drive.definition.waits.approval_decision import ApprovalDecision
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError, StepNotDefined

if TYPE_CHECKING:
    from geneva_drive.definition.definition import Definition, Node

P = ParamSpec("P")
R = TypeVar("R", covariant=True)
F = TypeVar("F", covariant=True)
AnyData = dict[str, Any] | None  # of a decision without a form


class ApprovalStep(Step[P, R], Generic[P, R, F]):
    """An approval in a class body; `F` is the type of the decision's data."""

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
        """An approval on an instance: a method whose type tells `result_of` the form."""

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
    """Turn a method into a step that asks people to decide, and runs after the decision.

    `role` or `approvers` says who decides. The body is called with a `gd.ApprovalDecision`, also
    after a rejection or an expiry; then `on_reject` or `on_timeout` takes effect. While it waits,
    an approval needs no worker: crashes and deploys do not affect it.

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
    if "keep_result" in given:
        raise StepConfigurationError(
            "keep_result is not an option of an approval: its decision is always kept, and "
            "result_of reads it."
        )
    opts = options.parse(given, kind)
    terms = approval_terms.parse(given)
    call_signatures.check_body(function, kind, transaction=opts.transaction)
    return ApprovalStep(function, opts, terms, where)


def branches(
    definition: Definition, node: Node, *, rejected: bool, expired: bool
) -> tuple[str, ...] | None:
    """Return the direct dependants of an approval that run, in order of declaration.

    None if neither `on_reject` nor `on_timeout` names a task: then all of them run. A deadline that
    rejects or approves is an expiry, too.
    """
    terms = node.terms
    if terms.reject_task is None and terms.timeout_task is None:
        return None
    reject_task, timeout_task = (
        None if task is None else definition.require(task).name
        for task in (terms.reject_task, terms.timeout_task)
    )
    if expired and timeout_task is not None:
        return (timeout_task,)
    if rejected and reject_task is not None:
        return (reject_task,)
    if rejected and terms.on_reject is OnReject.CANCEL:
        return ()
    dependants = definition.graph.dependants[node.name]
    return tuple(each for each in dependants if each not in (reject_task, timeout_task))


def check_branches(definition: Definition) -> None:
    """Raise an error if an approval names a task that does not depend on it."""
    for node in definition.nodes:
        if node.is_approval:
            with code_location.naming(f"Approval {node.name!r}", node.where):
                _check_task(definition, node, "on_reject", node.terms.reject_task, OnReject)
                _check_task(definition, node, "on_timeout", node.terms.timeout_task, OnTimeout)


def _check_task(
    definition: Definition,
    node: Node,
    option: str,
    task: object,
    words: type[OnReject] | type[OnTimeout],
) -> None:
    if task is None:
        return
    found = _find(definition, task)
    if found is None:
        known = [*approval_terms.words_of(words), *definition.graph.dependants[node.name]]
        close = get_close_matches(str(task), known, 1)
        meant = f" Did you mean {close[0]!r}?" if close else ""
        raise StepConfigurationError(
            f"{option} takes {approval_terms.listed(words)}, and {definition.type} has no task "
            f"{shown(task)}.{meant}"
        )
    way_out = f"Declare it with @gd.task(depends_on={node.name!r})."
    if found.kind is not NodeKind.TASK:
        raise StepConfigurationError(
            f"{option} names {found.name!r}, which is {found.kind.a_noun}, not a task. {way_out}"
        )
    if node.name not in found.depends_on:
        raise StepConfigurationError(
            f"{option} names the task {found.name!r}, which does not depend on the approval. "
            f"{way_out}"
        )


def _find(definition: Definition, task: object) -> Node | None:
    try:
        return definition.require(task)
    except StepNotDefined:
        return None
