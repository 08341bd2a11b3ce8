"""The decision of an approval, as its body and later steps read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from geneva_drive.definition.waits.form_type import FormType

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    # With a default, a plain `gd.ApprovalDecision` needs no parameter under a strict type checker.
    FormT = TypeVarWithDefault("FormT", covariant=True, default=Any)
else:
    FormT = TypeVar("FormT", covariant=True)


# Without slots: Python 3.11 refuses ApprovalDecision[Form](...) of a frozen class with slots.
@dataclass(frozen=True, kw_only=True)
class ApprovalDecision(Generic[FormT]):
    """The decision of an approval: the second argument of its body, and its result.

    If approved, `data` is an instance of the form, or without a form a dictionary or None. A
    rejection has the data as it was given. Without data, and after an expiry, it is None.

    >>> import geneva_drive as gd
    >>> class Refund(gd.Workflow):
    ...     @gd.approval(role="sales_manager", on_reject="continue")
    ...     def manager_approval(self, decision):
    ...         return f"{decision.choice} by {decision.by}"
    >>> decision = gd.ApprovalDecision(approved=True, choice="approve", by="ann", data=None)
    >>> Refund().manager_approval(decision)
    'approve by ann'
    """

    approved: bool
    choice: str | None = None  # None after an expiry
    by: str | None = None  # the person whose vote completed the quorum
    comment: str | None = None
    data: FormT
    expired: bool = False

    def stored(self) -> dict[str, Any]:
        """Return the decision as values to store, with `data` as a dictionary."""
        return {
            "approved": self.approved,
            "choice": self.choice,
            "by": self.by,
            "comment": self.comment,
            "data": _values(self.data),
            "expired": self.expired,
        }

    @classmethod
    def read(
        cls, values: Mapping[str, Any], form: FormType | None, step_name: str
    ) -> ApprovalDecision[Any]:
        """Return the decision with these stored values.

        Raises `InvalidForm` if the form has changed and the data no longer fits it.
        """
        data = values["data"]
        if form is not None and values["approved"] and data is not None:
            data = form.load(step_name, data)
        return ApprovalDecision(**{**values, "data": data})


def _values(data: object) -> dict[str, Any] | None:
    if data is None:
        return None
    return dict(data) if isinstance(data, Mapping) else FormType(type(data)).dump(data)
