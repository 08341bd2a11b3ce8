"""The declared type of a workflow's context, which pydantic checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ForwardRef, TypeVar, get_args, get_origin

from geneva_drive.definition import record_type
from geneva_drive.definition.record_type import RecordType
from geneva_drive.display import shown
from geneva_drive.errors import Fault, InvalidContext, StepConfigurationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic import BaseModel

    # What `create` and `gd.child` take as a context.
    GivenContext = Mapping[str, Any] | DataclassInstance | BaseModel


class ContextType(RecordType):
    """A dataclass or pydantic model that the contexts of a workflow class must fit."""

    noun = "context type"

    def subject(self, owner: str) -> str:
        return f"The context of {owner}"

    def refusal(self, owner: str, faults: Sequence[Fault]) -> InvalidContext:
        return InvalidContext(owner, self.name, faults)


def of_class(workflow_class: type, root: type) -> ContextType | None:
    """Return the context type that a class declares or inherits; `root` is `gd.Workflow`."""
    kinds = [kind for one in _declared(workflow_class, root) if (kind := _checked(one)) is not None]
    if not kinds:
        return None
    narrowest = next((k for k in kinds if all(issubclass(k, other) for other in kinds)), None)
    if narrowest is None:
        names = " and ".join(sorted({kind.__name__ for kind in kinds}))
        raise StepConfigurationError(
            f"its bases have the context types {names}, and none of them is a subclass of the "
            f"others. Declare a subclass of all of them that every inherited step can read."
        )
    return _inherited(workflow_class, narrowest) or ContextType(narrowest)


def _declared(workflow_class: type, root: type) -> Iterator[Any]:
    """Yield the context types that the bases of a class declare, with type variables filled in."""
    for base in vars(workflow_class).get("__orig_bases__", workflow_class.__bases__):
        origin, arguments = get_origin(base) or base, get_args(base)
        if origin is root:
            yield from arguments[1:]
        elif issubclass(origin, root):
            filled = dict(zip(origin.__parameters__, arguments, strict=False))
            for declared in _declared(origin, root):
                yield filled.get(declared, declared)


def _checked(declared: Any) -> type | None:
    """Return a context type; None if the context stays a mapping."""
    if isinstance(declared, TypeVar):
        declared = declared.__bound__
    is_mapping = get_origin(declared) is Mapping and get_args(declared) == (str, Any)
    if declared is None or declared is Any or is_mapping:
        return None
    if record_type.is_record(declared):
        return declared
    name = declared.__name__ if isinstance(declared, type) else shown(declared)
    hint = ""
    if isinstance(declared, ForwardRef):
        hint = " Define it above the workflow, and write its name without quotes."
    raise StepConfigurationError(
        f"a context type is a dataclass or a pydantic model, not {name}.{hint}"
    )


def _inherited(workflow_class: type, kind: type) -> ContextType | None:
    for base in workflow_class.__mro__[1:]:
        definition = vars(base).get("_geneva_definition")
        known: ContextType | None = definition.context_type if definition else None
        if known is not None and known.kind is kind:
            return known
    return None
