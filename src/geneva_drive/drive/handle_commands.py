"""What can be done to a workflow, and how a command is carried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.drive.handle_fields import W
from geneva_drive.drive.handle_graph import HandleGraph
from geneva_drive.engine.commands import graph_editing
from geneva_drive.engine.commands.cancel import cancel
from geneva_drive.engine.commands.command import Decision, execute
from geneva_drive.engine.commands.pause import pause
from geneva_drive.engine.commands.repair import reattempt, rewind, skip
from geneva_drive.engine.commands.resume import resume, resume_at
from geneva_drive.engine.commit.ending import Applied
from geneva_drive.engine.execution.group_commit import announce
from geneva_drive.engine.transitions.change import AuditEntry
from geneva_drive.engine.transitions.loop_position import rewound_to
from geneva_drive.errors import InvalidInput
from geneva_drive.serialization import typed_json

_MAX_ACTOR_LENGTH = 255


class HandleCommands(HandleGraph[W]):
    """The part of a handle that changes its workflow."""

    def pause(self, reason: str | None = None, actor: str | None = None) -> Self:
        """Hold the workflow; if a step is running, as soon as it has ended."""
        return self._command("pause", lambda s: pause(s, reason), reason, actor)

    def resume(
        self,
        data: Mapping[str, Any] | None = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Let a paused workflow go on; a failed step is run again.

        `data` is merged into the workflow's context, new keys winning.
        """
        if data is not None and not _is_json_object(data):
            raise InvalidInput(
                f"resume(data=...) takes a dictionary with text as keys, not {data!r}."
            )
        settings = self._drive.settings
        return self._command("resume", lambda s: resume(s, settings, data), reason, actor)

    def resume_at(self, step: object, reason: str | None = None, actor: str | None = None) -> Self:
        """Go on at `step`, be it before or after the one that the workflow stands at."""
        return self._command("resume_at", lambda s: resume_at(s, step), reason, actor)

    def cancel(
        self, force: bool = False, reason: str | None = None, actor: str | None = None
    ) -> Self:
        """End the workflow; a running step ends first, unless `force` fences it off at once."""
        return self._command("cancel", lambda s: cancel(s, reason, force=force), reason, actor)

    def skip(
        self, node: object | None = None, reason: str | None = None, actor: str | None = None
    ) -> Self:
        """Pass over the step that is next, or that failed, and go on after it."""
        return self._command("skip", lambda s: skip(s, node), reason, actor)

    def reattempt(
        self,
        node: object,
        rewind: bool = False,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Run a step again that failed or was canceled, from its cursor unless `rewind`."""
        return self._command(
            "reattempt", lambda s: reattempt(s, node, rewind=rewind), reason, actor
        )

    def rewind(
        self,
        node: object,
        to: Any = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Let a resumable step start over, or from the cursor `to`; it starts counting anew."""
        limit = self._drive.settings.max_cursor_size
        position = None if to is None else rewound_to(typed_json.dump_cursor(to, limit))
        return self._command("rewind", lambda s: rewind(s, node, position), reason, actor)

    def import_dag(
        self,
        document: str | Mapping[str, Any],
        reason: str | None = None,
        actor: str | None = None,
    ) -> Self:
        """Put a repaired graph in the place of the stored one, while nothing of it runs.

        What is done stays, under its ids; the document is checked as a whole before anything is
        written.
        """
        limit = self._drive.settings.max_payload_size
        return self._carry_out(
            "import_dag",
            lambda connection: (
                lambda subject: graph_editing.replace_graph(
                    connection, self._drive.store, subject, document, limit
                )
            ),
            reason,
            actor,
        )

    def freeze_dag(self, reason: str | None = None, actor: str | None = None) -> Self:
        """Store the graph of the class for this workflow, which new code changes no more."""
        definition = registry.require_definition(self._record.type)
        return self._carry_out(
            "freeze_dag",
            lambda connection: (
                lambda subject: graph_editing.freeze(
                    connection, self._drive.store, subject, definition
                )
            ),
            reason,
            actor,
        )

    def _command(
        self, name: str, decision: Decision, reason: str | None, actor: str | None
    ) -> Self:
        return self._carry_out(name, lambda _: decision, reason, actor)

    def _carry_out(
        self,
        name: str,
        deciding: Callable[[Connection], Decision],
        reason: str | None,
        actor: str | None,
    ) -> Self:
        _require_text(name, "reason", reason)
        _require_text(name, "actor", actor)
        if actor is not None and len(actor) > _MAX_ACTOR_LENGTH:
            raise InvalidInput(
                f"An actor's name has at most {_MAX_ACTOR_LENGTH} characters, not {len(actor)}."
            )
        store, now = self._drive.store, self._drive.clock.now()
        audit = AuditEntry(
            command=name,
            actor=None if actor is None else typed_json.safe_text(actor),
            reason=None if reason is None else typed_json.safe_text(reason),
        )
        applied = store.write(
            lambda connection: execute(
                connection, store, self._record.id, deciding(connection), audit=audit, now=now
            )
        )
        store.database.after_commit(lambda: self._tell(applied))
        return self.reload()

    def _tell(self, applied: Applied) -> None:
        announce(self._drive.environment, [applied])
        self._drive.wake_workers()


def _is_json_object(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _require_text(command: str, argument: str, value: Any) -> None:
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{command}({argument}=...) takes text, not {value!r}.")
