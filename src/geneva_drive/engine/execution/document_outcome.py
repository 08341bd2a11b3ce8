"""Turn the end of a document's step into an outcome, with the step that comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from geneva_drive.declarative.actions.changes import ContextChange, apply_changes, compacted
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.transitions.outcome import ContextUpdate, Decided, Routed, StepOutcome
from geneva_drive.engine.waits.branches import NOT_PASSED, PASSED, changes_of
from geneva_drive.serialization import typed_json
from geneva_drive.settings import Settings
from geneva_drive.states import Outcome

if TYPE_CHECKING:
    from geneva_drive.declarative.routes import Route
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition
    from geneva_drive.declarative.runtime.step_end import Prepared, StepEnd


class DocumentStep:
    """A running step of a document."""

    def __init__(
        self, definition: Definition, node: Node, claimed: Claimed, settings: Settings
    ) -> None:
        from geneva_drive.declarative.runtime.document_definition import DocumentDefinition

        assert isinstance(definition, DocumentDefinition), "it runs a document"
        self._definition: DocumentDefinition = definition
        self._node = node
        self._workflow = claimed.workflow
        self._execution = claimed.execution
        self._settings = settings

    def returned(self, returned: Any, decided: StepOutcome | None) -> StepOutcome:
        """Return the outcome of a body that returned; raises if the context gets too large."""
        from geneva_drive.declarative.routes import EndedStep, Ending
        from geneva_drive.declarative.runtime.step_end import StepEnd

        result: str | None = None
        outcome = Outcome.SUCCESS
        if isinstance(returned, StepEnd):
            end = returned
        else:  # the result of a child workflow, as typed JSON
            end, result = StepEnd(EndedStep(Ending.EXECUTED)), returned
        if isinstance(decided, Decided):
            outcome, result = decided.outcome, decided.result
        return self._routed(end, outcome, result)

    def timed_out(self, decided: Decided) -> StepOutcome:
        """Return the outcome of a wait for an event that did not come in time."""
        from geneva_drive.declarative.routes import EndedStep, Ending, Fail
        from geneva_drive.declarative.runtime.step_end import StepEnd

        reason = f"No event arrived at {self._node.name!r} in time."
        end = StepEnd(EndedStep(Ending.TIMED_OUT, reason))
        route = self._definition.route(self._node.name, end.ended)
        return decided if isinstance(route, Fail) else self._routed(end, decided.outcome, None)

    def prepared(self, prepared: Prepared) -> tuple[ContextUpdate | None, str | None]:
        """Return what the actions before an approval write to the context and the metadata."""
        return self.update(prepared.changes), self._metadata(prepared.changes, prepared.records)

    def update(self, changes: tuple[ContextChange, ...]) -> ContextUpdate | None:
        """Return the update that makes `changes` to the context that the step saw."""
        if not changes:
            return None
        before = self._workflow.context
        merged = apply_changes(typed_json.load(before) or {}, changes)
        after = typed_json.dump_context(merged, self._settings.max_payload_size)
        return ContextUpdate(changes, before, after)

    def _routed(self, end: StepEnd, outcome: Outcome, result: str | None) -> Routed:
        next_step, verdict, reason = _destination(
            self._definition.route(self._node.name, end.ended)
        )
        return Routed(
            next_step=next_step,
            outcome=outcome,
            result=result,
            metadata=self._metadata(end.changes, end.records, end.ended.holds),
            context=self.update(end.changes),
            verdict=verdict,
            reason=reason,
        )

    def _metadata(
        self,
        changes: tuple[ContextChange, ...],
        records: tuple[dict[str, Any], ...],
        holds: bool | None = None,
    ) -> str | None:
        """Return the execution's metadata; a branch also keeps its changes, for its parent."""
        kept: dict[str, Any] = {} if holds is None else {"holds": holds}
        if records:
            kept["actions"] = list(records)
        if changes and self._definition.branch_of is not None:
            written = compacted((*changes_of(self._execution), *changes))
            kept["set"] = [[list(change.path), change.value] for change in written]
        if not kept:
            return None
        former = typed_json.load(self._execution.metadata) or {}
        return typed_json.dump({**former, **kept})


def _destination(route: Route) -> tuple[str | None, str | None, str | None]:
    """Return the next step, or the result and the reason of a workflow that finishes."""
    from geneva_drive.declarative.routes import EndBranch, Fail, FinishWorkflow, GoTo

    match route:
        case GoTo(step_id):
            return step_id, None, None
        case FinishWorkflow(result, reason):
            return None, str(result), reason
        case EndBranch(passed, reason):
            return None, PASSED if passed else NOT_PASSED, reason
        case Fail():
            raise AssertionError("only a step that raised fails, and then a policy decides")
        case _:
            assert_never(route)
