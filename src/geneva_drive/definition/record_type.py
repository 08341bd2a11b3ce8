"""Types of stored values: dataclasses and pydantic models, checked by pydantic."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.errors import Fault, InvalidInput, InvalidRecord, StepConfigurationError

if TYPE_CHECKING:
    from pydantic import ValidationError

_UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")


class RecordType:
    """A dataclass or pydantic model that values must fit before they are stored.

    A subclass words the errors.
    """

    noun: ClassVar[str]

    def __init__(self, kind: type) -> None:
        # Imported here because it takes as long as all other imports together.
        from pydantic import TypeAdapter, ValidationError
        from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
            self._adapter.rebuild()  # a no-op, unless a type that it refers to was not found
        except (PydanticUserError, PydanticUndefinedAnnotation) as error:
            raise StepConfigurationError(
                f"the {self.noun} {kind.__name__} cannot be checked. "
                f"{error.message.partition(chr(10))[0]}"
            ) from None
        self.kind = kind
        self._validation_error = ValidationError

    @property
    def name(self) -> str:
        return self.kind.__name__

    def json_schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the values; any object if a field has none."""
        from pydantic.errors import PydanticInvalidForJsonSchema

        try:
            return self._adapter.json_schema()
        except PydanticInvalidForJsonSchema:
            return {"type": "object"}

    def subject(self, owner: str) -> str:
        """Return a phrase that names the values, for the beginning of a sentence."""
        raise NotImplementedError

    def refusal(self, owner: str, faults: Sequence[Fault]) -> InvalidRecord:
        """Return the error for values that do not fit."""
        raise NotImplementedError

    def values_of(self, owner: str, given: object) -> dict[str, Any]:
        """Return an instance or a mapping as a dictionary, unchecked."""
        if type(given) is self.kind:
            return self.dump(given)
        if not checks.is_json_object(given):
            raise InvalidInput(
                f"{self.subject(owner)} must be an instance of {self.name} or a dictionary "
                f"with text as keys, got {shown(given)}."
            )
        return dict(given)

    def check(
        self, owner: str, values: dict[str, Any], new_keys: Collection[str]
    ) -> dict[str, Any]:
        """Return the values in the form in which they are stored, or raise an `InvalidRecord`.

        Defaults are filled in, so that all steps see the same values. Keys that the type does not
        have are refused if they are among `new_keys`, unless the type has its own rule for extra
        keys.
        """
        stored = self.dump(self._parsed(owner, values, new_keys))
        try:
            self.load(owner, stored)
        except InvalidRecord as invalid:
            subject = self.subject(owner)
            raise InvalidInput(
                f"{self.name} cannot read {subject[0].lower()}{subject[1:]} once it is stored: "
                f"{invalid.words}. Check its serializers and excluded fields."
            ) from None
        return stored

    def load(self, owner: str, values: dict[str, Any]) -> Any:
        """Return an instance with these values, or raise an `InvalidRecord`."""
        try:
            return self._adapter.validate_python(values, by_alias=True, by_name=True)
        except self._validation_error as error:
            raise self.refusal(owner, _faults(error)) from None

    def dump(self, instance: Any) -> dict[str, Any]:
        # Python mode keeps the types of dates and Decimals.
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
        except self._validation_error as error:
            # `extra` overrides the rules of nested models, so look only at the outermost keys.
            unknown = [
                Fault(str(key), f"{self.name} has no such field")
                for key in _unknown_keys(error)
                if key in new_keys
            ]
        try:
            parsed = self.load(owner, values)
        except InvalidRecord as invalid:
            raise self.refusal(owner, [*unknown, *invalid.faults]) from None
        if unknown:
            raise self.refusal(owner, unknown)
        return parsed

    @property
    def _has_own_rule(self) -> bool:
        """True if the type has its own rule for unknown keys."""
        config = getattr(self.kind, "model_config", None) or getattr(
            self.kind, "__pydantic_config__", {}
        )
        return config.get("extra") is not None


def is_record(declared: object) -> TypeGuard[type]:
    """True for a dataclass and for a pydantic model whose values are objects."""
    return isinstance(declared, type) and (is_dataclass(declared) or _is_model(declared))


def _is_model(kind: type) -> bool:
    pydantic = sys.modules.get("pydantic")  # a caller with a model has imported it
    if pydantic is None or not issubclass(kind, pydantic.BaseModel):
        return False
    return not issubclass(kind, pydantic.RootModel)  # the values of a RootModel need not be objects


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
