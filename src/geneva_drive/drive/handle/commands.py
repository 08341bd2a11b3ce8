"""The commands of a handle: each is one transaction that also writes its audit entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

from sqlalchemy import Connection

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.drive import audit_text
from geneva_drive.drive.handle.fields import W
from geneva_drive.drive.handle.resumption import HandleResumption
from geneva_drive.engine import contexts
from geneva_drive.engine.commands import graph_changes
from geneva_drive.engine.commands.batch_commands import set_parallelism
from geneva_drive.engine.commands.cancel import cancel
from geneva_drive.engine.commands.command import execute
from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow
from geneva_drive.engine.commands.passed_step import SKIP
from geneva_drive.engine.commands.pause import pause
from geneva_drive.engine.commands.repair import pass_over, reattempt, rewind
from geneva_drive.engine.commands.resume import ContextChanged, resume, resume_at
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.contexts import MergedContext
from geneva_drive.engine.execution.group_commit import announce_command
from geneva_drive.engine.transitions.change import AuditEntry, Change, ResumeRequest
from geneva_drive.engine.transitions.loop_position import rewound_to
from geneva_drive.errors import InvalidInput, InvalidStateError
from geneva_drive.serialization import typed_json
from geneva_drive.states import ResumeTrigger

_MOST = 2**31 - 1  # the largest number of the column

Decide = Callable[[Connection, CommandedWorkflow], Change]


class HandleCommands(HandleResumption[W]):
    """The commands that change the workflow; `reason` and `actor` go into the audit entry."""

    def pause(self, reason: str | None = None, actor: str | None = None) -> Self:
        """Pause the workflow. A running step ends first; until then, the pause is `requested`."""
        return self._command("pause", lambda _, s: pause(s, reason), reason, actor)

    def resume(
        self,
        data: Mapping[str, Any] | None = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Continue a paused workflow; a failed step runs again.

        `data` is merged into the workflow's context; its keys win. The result must fit the context
        type of the class, or nothing changes.
        """
        if data is not None and not checks.is_json_object(data):
            raise InvalidInput(
                f"resume(data=...) must be a dictionary with text as keys, got {shown(data)}."
            )
        if data is None:
            return self._resume(None, None, reason, actor)
        definition, limit = self._definition, self._drive.settings.max_payload_size
        stored = self.reload()._record.context
        while True:
            # Validators of a context type are users' code: run them before the workflow is locked.
            merged = contexts.merge(definition, stored, data, limit)
            try:
                return self._resume(merged, data, reason, actor)
            except ContextChanged as changed:
                stored = changed.present

    def _resume(
        self,
        merged: MergedContext | None,
        data: Mapping[str, Any] | None,
        reason: str | None,
        actor: str | None,
    ) -> Self:
        request = _manual_request("resume", actor, data)
        return self._command(
            "resume", lambda _, s: replace(resume(s, merged), resume=request), reason, actor
        )

    def resume_at(self, step: object, reason: str | None = None, actor: str | None = None) -> Self:
        """Continue at `step`, which may come before or after the current one."""
        request = _manual_request("resume_at", actor, None)
        return self._command(
            "resume_at", lambda _, s: replace(resume_at(s, step), resume=request), reason, actor
        )

    def cancel(
        self, force: bool = False, reason: str | None = None, actor: str | None = None
    ) -> Self:
        """End the workflow. A running step ends first, unless `force` drops its result."""
        checks.flag("cancel(force=...)", force)
        return self._command("cancel", lambda _, s: cancel(s, reason, force=force), reason, actor)

    def skip(
        self, node: object | None = None, reason: str | None = None, actor: str | None = None
    ) -> Self:
        """Skip the next or failed step and continue after it."""
        return self._command("skip", lambda _, s: pass_over(s, node, SKIP), reason, actor)

    def reattempt(
        self,
        node: object,
        rewind: bool = False,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Run a failed or canceled step again: from its cursor, or with `rewind` from the start."""
        checks.flag("reattempt(rewind=...)", rewind)
        return self._command(
            "reattempt", lambda _, s: reattempt(s, node, rewind=rewind), reason, actor
        )

    def rewind(
        self,
        node: object,
        to: Any = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Restart a resumable step from its first item, or from the cursor `to`.

        Its item count starts from zero. A rewound approval makes a new request.
        """
        limit = self._drive.settings.max_cursor_size
        position = None if to is None else rewound_to(typed_json.dump_cursor(to, limit))
        return self._command("rewind", lambda _, s: rewind(s, node, position), reason, actor)

    def set_parallelism(
        self,
        step: object,
        n: int | None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Self:
        """Set how many workers of a batch or map run at once; None means all of them.

        The number applies to all worker processes from now on. Running workers continue.
        """
        if n is not None:
            hint = " None lets all workers run at once; to stop them, pause the workflow."
            checks.whole_number("set_parallelism(n=...)", n, at_least=1, at_most=_MOST, hint=hint)
        store = self._drive.store
        return self._command(
            "set_parallelism",
            lambda connection, s: set_parallelism(connection, store, s, step, n),
            reason,
            actor,
        )

    def import_dag(
        self,
        document: str | Mapping[str, Any],
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Replace the stored graph with a repaired one, while none of its nodes runs.

        Nodes that are done keep their ids and states. The whole document is checked before anything
        is written.
        """
        store, limit = self._drive.store, self._drive.settings.max_payload_size
        return self._command(
            "import_dag",
            lambda connection, s: graph_changes.replace_graph(
                connection, store, s, document, limit
            ),
            reason,
            actor,
        )

    def freeze_dag(self, reason: str | None = None, actor: str | None = None) -> Self:
        """Store the graph of the class for this workflow, so that new code cannot change it."""
        store, definition = self._drive.store, self._require_definition()
        if definition.is_document:
            raise InvalidStateError(
                "Cannot freeze the graph of a document: its workflow keeps its version anyway."
            )
        return self._command(
            "freeze_dag",
            lambda connection, s: graph_changes.freeze(connection, store, s, definition),
            reason,
            actor,
        )

    def _command(self, name: str, decide: Decide, reason: str | None, actor: str | None) -> Self:
        audit = AuditEntry(
            command=name,
            actor=audit_text.actor(name, actor),
            reason=audit_text.reason(name, reason),
        )
        store, now = self._drive.store, self._drive.clock.now()
        return self._write(
            lambda connection: [
                execute(
                    connection,
                    store,
                    self._record.id,
                    lambda subject: decide(connection, subject),
                    audit=audit,
                    now=now,
                )
            ]
        )

    def _write(self, act: Callable[[Connection], list[Applied]]) -> Self:
        """Run `act` in one transaction, announce its changes, and read the workflow again."""
        if self._may_be_uncommitted:
            # Otherwise SQLite would wait for the end of the session that created the workflow.
            self.reload()
        store, environment = self._drive.store, self._drive.environment
        applied = store.write(act)
        store.database.after_commit(lambda: announce_command(environment, applied))
        return self.reload()


def _manual_request(
    command: str, actor: str | None, data: Mapping[str, Any] | None
) -> ResumeRequest:
    person = audit_text.actor(command, actor)
    return ResumeRequest(
        trigger=ResumeTrigger.MANUAL,
        trigger_id=person,
        actor=person,
        data=None if data is None else typed_json.dump(dict(data)),
        is_executed=True,
    )
