"""The ways to pass over a step: skip, resolve and complete it; each records an attempt."""

from __future__ import annotations

from dataclasses import dataclass, replace

from geneva_drive.definition.definition import Node
from geneva_drive.engine.transitions.change import NewExecution
from geneva_drive.errors import InvalidStateError
from geneva_drive.states import Outcome, StepState


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedStep:
    """A step that an operator marks as done, although its body did not complete it."""

    verb: str
    state: StepState
    outcome: Outcome
    result: str | None = None  # typed JSON

    @property
    def is_manual(self) -> bool:
        """True if a person did the step's work, which only a failed step allows."""
        return self.state is StepState.COMPLETED

    def check(self, node: Node | None) -> None:
        """Raise an error if the node has another way to be completed."""
        is_completed = self.outcome is Outcome.COMPLETED_MANUALLY
        if is_completed and node is not None and node.is_approval:
            raise InvalidStateError(
                f"Cannot complete approval {node.name!r}: its result is the decision of a person. "
                f"Decide its request; if that has expired, `reattempt` asks again."
            )

        if is_completed and node is not None and node.is_event_wait:
            raise InvalidStateError(
                f"Cannot complete {node.kind.noun} {node.name!r}: its result is what it waits for. "
                f"Publish the event, or pass over the step with skip."
            )

    def record(self, planned: NewExecution) -> NewExecution:
        """Return the planned attempt with the state, outcome and result to record."""
        return replace(planned, state=self.state, outcome=self.outcome, result=self.result)


SKIP = PassedStep(verb="skip", state=StepState.SKIPPED, outcome=Outcome.SKIPPED_BY_OPERATOR)
RESOLVE = PassedStep(verb="resolve", state=StepState.COMPLETED, outcome=Outcome.RESOLVED_MANUALLY)


def completion(result: str) -> PassedStep:
    return PassedStep(
        verb="complete",
        state=StepState.COMPLETED,
        outcome=Outcome.COMPLETED_MANUALLY,
        result=result,
    )
