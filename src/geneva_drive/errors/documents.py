"""Errors of JSON workflows at run time, and of packages that they need."""

from __future__ import annotations

from geneva_drive.display import shown
from geneva_drive.errors.base import GenevaDriveError
from geneva_drive.errors.input import InvalidInput
from geneva_drive.errors.steps import PermanentError


class ExpressionFailed(GenevaDriveError, PermanentError):
    """An expression of a document cannot be evaluated with this context."""


class MissingField(ExpressionFailed):
    """A condition or template reads a field that is null or missing."""

    def __init__(self, field: str) -> None:
        self.field = field
        super().__init__(
            f"The field {shown(field)} is missing or null. Provide it in the context, ask for it "
            f"with 'exists', or give it a default."
        )


class NotComparable(ExpressionFailed):
    """A condition compares values of types that its operator does not compare."""

    def __init__(self, operator: str, left: str, right: str) -> None:
        self.operator = str(operator)
        self.left = left
        self.right = right
        super().__init__(
            f"The operator {self.operator!r} cannot compare {left} with {right}. Values are not "
            f"converted: write the value in the type of the field."
        )


class UnknownAction(GenevaDriveError, PermanentError):
    """A document names an action or loader that this process does not know."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        super().__init__(
            f"There is no {kind} {name!r} in this process. Register it with "
            f"@gd.{kind}({name!r}) in a module that the worker imports (--app), and reattempt."
        )


class AddressRefused(GenevaDriveError, PermanentError):
    """A webhook leads to a private address."""

    def __init__(self, host: str, address: str) -> None:
        self.host = host
        self.address = address
        where = host if host == address else f"{host} ({address})"
        super().__init__(
            f"Webhooks to {where} are refused: the address is not public. If this is intended, add "
            f"{host!r} to the setting webhook_allowed_hosts."
        )


class MissingExtra(InvalidInput):
    """A feature needs a package that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(
            f"The package {package!r} is not installed. Run: pip install 'geneva-drive[{extra}]'."
        )
