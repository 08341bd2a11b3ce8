"""The declared type of the data of a decision."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from geneva_drive.definition import record_type
from geneva_drive.definition.record_type import RecordType
from geneva_drive.display import shown
from geneva_drive.errors import Fault, InvalidForm, StepConfigurationError


class FormType(RecordType):
    """A dataclass or pydantic model that the data of an approving decision must fit.

    The owner of the data is the name of the approval's step.
    """

    noun = "form"

    def subject(self, owner: str) -> str:
        return f"The data of approval {owner!r}"

    def refusal(self, owner: str, faults: Sequence[Fault]) -> InvalidForm:
        return InvalidForm(owner, self.name, faults)

    def check(
        self, owner: str, values: object, new_keys: Collection[str] | None = None
    ) -> dict[str, Any]:
        """Return the values to store, with defaults filled in, from an instance, a mapping or None.

        Raises `InvalidForm` for values that do not fit and for fields that the form does not have.
        """
        given = self.values_of(owner, {} if values is None else values)
        return super().check(owner, given, given if new_keys is None else new_keys)


def parse(option: object) -> FormType | None:
    """Return the form that an approval declares."""
    if option is None:
        return None
    if not record_type.is_record(option):
        name = option.__name__ if isinstance(option, type) else shown(option)
        raise StepConfigurationError(f"form takes a dataclass or a pydantic model, not {name}.")
    return FormType(option)
