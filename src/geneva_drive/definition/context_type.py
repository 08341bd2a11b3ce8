"""The declared type of a workflow's context, which pydantic checks."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, ForwardRef, TypeVar, get_args, get_origin

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.errors import Fault, InvalidContext, InvalidInput, StepConfigurationError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic import BaseModel, ValidationError

    # What `create` and `gd.child` take as a context.
    GivenContext = Mapping[str, Any] | DataclassInstance | BaseModel

_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")


class ContextType:
    """A dataclass or pydantic model that the contexts of a workflow class must fit."""

    def __init__(self, kind: type) -> None:
        # Imported here because it takes as long as all other imports.
        from pydantic import TypeAdapter, ValidationError
        from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
            self._adapter.rebuild()  # a no-op, unless a type that it refers to was not found
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            raise StepConfigurationError(
                f"the context type {kind.__name__} cannot be checked. "
                f"{error.message.partition(chr(10))[0]}"
            ) from None
        self.kind = kind
        self._refusal = ValidationError

    @property
    def name(self) -> str:
        return self.kind.__name__

    def values_of(self, owner: str, given: object) -> dict[str, Any]:
        """Return what `create` was given as a dictionary, unchecked."""
        if type(given) is self.kind:
            return self._dump(given)
        if not checks.is_json_object(given):
            raise InvalidInput(
                f"The context of {owner} must be an instance of {self.name} or a dictionary "
                f"with text as keys, got {shown(given)}."
            )
        return dict(given)

    def check(
        self, owner: str, values: dict[str, Any], new_keys: Collection[str]
    ) -> dict[str, Any]:
        """Return the values as they are to be stored, or raise `InvalidContext`.

        Defaults are filled in, so that each step sees the same. A key that the type does not have
        is refused if it is one of `new_keys`, unless the type says what to do with such keys.
        """
        stored = self._dump(self._parsed(owner, values, new_keys))
        try:
            self.load(owner, stored)
        except InvalidContext as invalid:
            raise InvalidInput(
                f"{self.name} cannot read the context of {owner} once it is stored: "
                f"{invalid.words}. Check its serializers and excluded fields."
            ) from None
        return stored

    def load(self, owner: str, values: dict[str, Any]) -> Any:
        """Return an instance with these values, or raise `InvalidContext`."""
        try:
            return self._adapter.validate_python(values, by_alias=True, by_name=True)
        except self._refusal as refusal:
            raise InvalidContext(owner, self.name, _faults(refusal)) from None

    def _dump(self, instance: Any) -> dict[str, Any]:
        # In Python mode, dates and Decimals keep their type.
        dumped: dict[str, Any] = self._adapter.dump_python(
            instance, round_trip=True, by_alias=False, warnings=False
        )
        return dumped

    def _parsed(self, owner: str, values: dict[str, Any], new_keys: Collection[str]) -> Any:
        if self._has_own_rule:
            return self.load(owner, values)
        try:
            return self._adapter.validate_python(
                values, by_alias=True, by_name=True, extra="forbid"
            )
        except self._refusal as refusal:
            # `extra` overrules the rules of nested models, so that only outermost keys count.
            unknown = [
                Fault(str(key), f"{self.name} has no such field")
                for key in _unknown_keys(refusal)
                if key in new_keys
            ]
        try:
            parsed = self.load(owner, values)
        except InvalidContext as invalid:
            raise InvalidContext(owner, self.name, [*unknown, *invalid.faults]) from None
        if unknown:
            raise InvalidContext(owner, self.name, unknown)
        return parsed

    @property
    def _has_own_rule(self) -> bool:
        """True if the type itself says what becomes of unknown keys."""
        config = getattr(self.kind, "model_config", None) or getattr(
            self.kind, "__pydantic_config__", {}
        )
        return config.get("extra") is not None


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
            f"others. Declare a subclass of all of them, which every inherited step can read."
        )
    return _inherited(workflow_class, narrowest) or ContextType(narrowest)


def _declared(workflow_class: type, root: type) -> Iterator[Any]:
    """Yield what the bases of a class declare as context types, with type variables filled in."""
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
    if isinstance(declared, type) and (is_dataclass(declared) or _is_model(declared)):
        return declared
    name = declared.__name__ if isinstance(declared, type) else shown(declared)
    hint = ""
    if isinstance(declared, ForwardRef):
        hint = " Define it above the workflow, and write its name without quotes."
    raise StepConfigurationError(
        f"a context type is a dataclass or a pydantic model, not {name}.{hint}"
    )


def _is_model(kind: type) -> bool:
    pydantic = sys.modules.get("pydantic")  # whoever has a model has imported it
    if pydantic is None or not issubclass(kind, pydantic.BaseModel):
        return False
    return not issubclass(kind, pydantic.RootModel)  # its values need not be objects


def _inherited(workflow_class: type, kind: type) -> ContextType | None:
    for base in workflow_class.__mro__[1:]:
        definition = vars(base).get("_geneva_definition")
        known: ContextType | None = definition.context_type if definition else None
        if known is not None and known.kind is kind:
            return known
    return None


def _unknown_keys(refusal: ValidationError) -> Iterator[int | str]:
    for error in refusal.errors(include_url=False, include_context=False, include_input=False):
        if error["type"] in _UNKNOWN_KEY and len(error["loc"]) == 1:
            yield error["loc"][0]


def _faults(refusal: ValidationError) -> list[Fault]:
    errors = refusal.errors(include_url=False, include_context=False, include_input=False)
    return [Fault(_path(error["loc"]), error["msg"]) for error in errors]


def _path(location: tuple[int | str, ...]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in location]
    return "".join(parts).removeprefix(".")
