"""Errors after which the caller reloads and decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geneva_drive.errors.base import GenevaDriveError

if TYPE_CHECKING:
    from geneva_drive.drive.handle.handle import WorkflowHandle


class AlreadyRunning(GenevaDriveError):
    """The hero already has an ongoing workflow of this class: see `existing`."""

    def __init__(
        self, type_name: str, hero_type: str, hero_id: str, existing: WorkflowHandle[Any]
    ) -> None:
        self.existing = existing
        super().__init__(
            f"{hero_type} {hero_id!r} already has an ongoing {type_name} (workflow {existing.id}). "
            f"Use get_or_create() to get that one, or allow_multiple=True to start another."
        )


class InvalidStateError(GenevaDriveError):
    """The state of the workflow or execution does not allow this."""


class NotPermitted(GenevaDriveError):
    """The actor has no right to do this; the attempt is recorded."""


class IllegalMove(InvalidStateError):
    def __init__(self, thing: str, thing_id: object, state: str, target: str) -> None:
        super().__init__(f"{thing} {thing_id} is {state} and cannot become {target}.")


class UncommittedWork(InvalidStateError):
    """A loop saved its cursor while a transaction of its body was open."""

    def __init__(self, step_name: str) -> None:
        self.step_name = step_name
        super().__init__(
            f"Step {step_name!r} saves its cursor while a session of its own has uncommitted "
            f"writes. A crash would lose them, and the step would resume after them. Commit "
            f"before the loop continues, or use the step's session with "
            f"@gd.resumable_step(transaction=True)."
        )


class ClaimLost(GenevaDriveError):
    """Another worker holds the execution now."""

    def __init__(self, execution_id: object, step_name: str) -> None:
        self.execution_id = execution_id
        super().__init__(
            f"Execution {execution_id} of step {step_name!r} is no longer held by this worker; "
            f"its result was dropped."
        )
