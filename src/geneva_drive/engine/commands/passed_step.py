"""The ways in which an operator passes over a step, and the attempt that each records."""

from __future__ import annotations

from dataclasses import dataclass, replace

from geneva_drive.definition.definition import Node
from geneva_drive.engine.transitions.change import NewExecution
from geneva_drive.errors import InvalidStateError
from geneva_drive.states import Outcome, StepState


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedStep:
    """A step that counts as done from now on, although its body did not complete it."""

    verb: str
    state: StepState
    outcome: Outcome
    result: str | None = None  # typed JSON

    @property
    def is_manual(self) -> bool:
        """True if a person did the step's work: only a step that failed can be passed like this."""
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
        """Return the attempt as it is recorded."""
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
