"""Maps: nodes that run once for each item of a list that is known only at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack, overload

from geneva_drive.definition.compiler import call_signatures, code_location
from geneva_drive.definition.nodes import child as children
from geneva_drive.definition.nodes.child import Child
from geneva_drive.definition.nodes.declaration import DeclaredNode, NodeKind
from geneva_drive.definition.nodes.step import Step, decorate
from geneva_drive.definition.options import expansion, keywords, map_items, options
from geneva_drive.definition.options.expansion import ExpansionTerms
from geneva_drive.definition.options.keywords import ChildMapOptions, MapOptions
from geneva_drive.definition.options.map_items import MapItems, Source
from geneva_drive.definition.options.options import Options
from geneva_drive.definition.workflow import Workflow

if TYPE_CHECKING:
    from geneva_drive.definition.context_type import GivenContext

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


class MapStep(Step[P, R], Generic[P, R]):
    """A map in a class body."""

    expansion: ExpansionTerms
    items: MapItems

    def __init__(
        self,
        function: Callable[Concatenate[Any, P], R],
        opts: Options,
        items: MapItems,
        terms: ExpansionTerms,
        where: str,
    ) -> None:
        super().__init__(NodeKind.MAP, function, opts, where)
        self.items = items
        self.expansion = terms

    def with_body(self, function: Callable[..., Any], where: str) -> MapStep[Any, Any]:
        return MapStep(function, self.options, self.items, self.expansion, where)


class ChildMap(DeclaredNode):
    """A map that starts a child workflow for each item."""

    child: Child  # its hero and context may be callables of the parent and the item
    expansion: ExpansionTerms
    items: MapItems

    def __init__(
        self, child: Child, opts: Options, items: MapItems, terms: ExpansionTerms, where: str
    ) -> None:
        super().__init__(NodeKind.MAP, child.name, opts, where)
        self.child = child
        self.items = items
        self.expansion = terms


@overload
def map(
    items: Source,
    *,
    workflow: type[Workflow[Any, Any]] | str,
    hero: Callable[[Any, Any], object] | object | None = None,
    context: Mapping[str, Any] | Callable[[Any, Any], GivenContext | None] | None = None,
    **given: Unpack[ChildMapOptions],
) -> ChildMap: ...
@overload
def map(
    items: Source, **given: Unpack[MapOptions]
) -> Callable[[Callable[Concatenate[Any, P], R]], MapStep[P, R]]: ...
def map(
    items: Any,
    *,
    workflow: Any = None,
    hero: Any = None,
    context: Any = None,
    **given: Any,
) -> Any:
    """Run a method, or a child workflow, once for each item of a list.

    `items` is a step that keeps a list as its result, a method's name or a callable of self. The
    list is read once; after a crash, only unfinished items run again. A method is called with one
    item, and `results_of` returns the results in the order of the items. With `workflow`, each item
    starts one child; `hero` and `context` are values, or functions of the parent and the item.

    >>> import geneva_drive as gd
    >>> class ToolCall(gd.Workflow):
    ...     @gd.step
    ...     def call(self): ...
    >>> class Agent(gd.Workflow):
    ...     @gd.step(keep_result=True)
    ...     def plan(self): return ["search", "read"]
    ...     @gd.map(plan, parallelism=8)
    ...     def look_up(self, item): ...
    ...     call_tools = gd.map(
    ...         plan, workflow=ToolCall, context=lambda self, item: {"tool": item}
    ...     )
    """
    with code_location.ending_at_caller:
        if workflow is None:
            _refuse_terms_of_a_child(hero, context)
            return decorate(NodeKind.MAP, None, given, partial(_build, _parse(items)))
        declared = Child(workflow_class=workflow, hero=hero, context=context)
        return _make(items, declared, given)


def _parse(items: object) -> MapItems:
    with code_location.naming("gd.map", code_location.of_caller()):
        return map_items.parse(items)


def _refuse_terms_of_a_child(hero: object, context: object) -> None:
    for option, value in (("hero", hero), ("context", context)):
        if value is not None:
            raise code_location.fault(
                f"{option} of a map needs workflow=, the class of its child workflows."
            )


def _build(
    items: MapItems,
    kind: NodeKind,
    function: Callable[..., Any],
    given: Mapping[str, Any],
    where: str,
) -> MapStep[Any, Any]:
    opts = options.parse({"keep_result": True, **given}, kind)
    terms = expansion.parse(given)
    call_signatures.check_body(function, kind, transaction=opts.transaction)
    return MapStep(function, opts, items, terms, where)


def _make(items: object, declared: Child, given: Mapping[str, Any]) -> ChildMap:
    where = code_location.of_caller()
    children.check_class("workflow of gd.map", declared.workflow_class, where)
    with code_location.naming(f"Map of {declared.name!r}", where):
        source = map_items.parse(items)
        children.check(declared, "self", "item")
        opts = options.parse({"keep_result": True, **given}, NodeKind.MAP, keywords.ChildMapOptions)
        terms = expansion.parse(given)
    return ChildMap(declared, opts, source, terms, where)
