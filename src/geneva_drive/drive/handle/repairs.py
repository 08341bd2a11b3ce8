"""The commands of a handle that repair a failed or hanging step."""

from __future__ import annotations

from typing import Any, Self

from geneva_drive import checks
from geneva_drive.drive import audit_text
from geneva_drive.drive.handle.commands import HandleCommands
from geneva_drive.drive.handle.fields import W
from geneva_drive.engine.commands import passed_step as passage
from geneva_drive.engine.commands.passed_step import PassedStep
from geneva_drive.engine.commands.repair import pass_over
from geneva_drive.engine.commands.reset import Reset, reset_for_retry
from geneva_drive.engine.transitions.change import AuditEntry
from geneva_drive.serialization import typed_json


class HandleRepairs(HandleCommands[W]):
    """Repairs of single steps; each needs an `actor` for its audit entry."""

    def reset_for_retry(
        self,
        step: object,
        reset_checkpoint: bool = False,
        *,
        actor: str | None = None,
        reason: str | None = None,
        force: bool = False,
    ) -> Self:
        """Run a failed step again, from its checkpoint or, with `reset_checkpoint`, the start.

        The counts of its failures and recoveries are reset, and a paused workflow continues. A step
        in progress can be reset once its worker's lease has expired, or immediately with `force`;
        the result of the old worker is dropped.
        """
        name = "reset_for_retry"
        checks.flag(f"{name}(reset_checkpoint=...)", reset_checkpoint)
        checks.flag(f"{name}(force=...)", force)
        wanted = Reset(step=step, rewind=reset_checkpoint, force=force)
        audit, environment = _audit(name, actor, reason), self._drive.environment
        return self._write(
            lambda connection: reset_for_retry(connection, environment, self.id, wanted, audit)
        )

    def resolve_manually(
        self, step: object, *, actor: str | None = None, reason: str | None = None
    ) -> Self:
        """Count a failed step as done: a person did its work. The workflow continues after it."""
        return self._pass("resolve_manually", step, passage.RESOLVE, actor, reason)

    def complete_manually(
        self, step: object, *, result: Any, actor: str | None = None, reason: str | None = None
    ) -> Self:
        """Count a failed step as done, with the result that its body would have returned.

        `result_of` reads the result.
        """
        stored = typed_json.dump_within(
            result,
            self._drive.settings.max_result_size,
            what=f"The result of step {self.name_of(step)!r}",
            setting="max_result_size",
        )
        return self._pass("complete_manually", step, passage.completion(stored), actor, reason)

    def _pass(
        self, name: str, step: object, how: PassedStep, actor: str | None, reason: str | None
    ) -> Self:
        person = audit_text.required_actor(name, actor)
        return self._command(name, lambda _, s: pass_over(s, step, how), reason, person)


def _audit(name: str, actor: str | None, reason: str | None) -> AuditEntry:
    return AuditEntry(
        command=name,
        actor=audit_text.required_actor(name, actor),
        reason=audit_text.reason(name, reason),
    )
