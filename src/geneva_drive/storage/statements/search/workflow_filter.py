"""The filter of a search for workflows, and the sections of indexes to search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from geneva_drive.states import ENDED_WORKFLOW_STATES, STORED_WORKFLOW_STATES, WorkflowState
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.statements.search.workflow_traits import WorkflowTraits


@dataclass(frozen=True, slots=True)
class WorkflowFilter:
    """The wanted workflows and their order; a field that is None excludes none."""

    types: Sequence[str] | None = None
    state: WorkflowState | None = None  # as readers see it
    only_ongoing: bool = False
    stored: WorkflowState | None = None  # as it is stored
    hero: tuple[str, str] | None = None  # its type and id
    template: str | None = None
    since: datetime | None = None  # created then or later
    is_newest_first: bool = False
    after: Key | None = None  # the id after which they come, in the order of the filter
    is_by_creation: bool = False  # ordered by the moment of their creation, then by id
    after_created: datetime | None = None  # with `after`, in the order of creation
    traits: WorkflowTraits | None = None

    @property
    def stored_states(self) -> list[WorkflowState]:
        """Return the states that the rows may have.

        `performing`, and `paused` because of a wait for a person or an event, are stored as
        `ready`.
        """
        states = STORED_WORKFLOW_STATES
        match self.state:
            case None:
                pass
            case WorkflowState.PERFORMING:
                states = frozenset({WorkflowState.READY})
            case WorkflowState.PAUSED:
                states = frozenset({WorkflowState.PAUSED, WorkflowState.READY})
            case state:
                states = frozenset({state})
        if self.stored is not None:
            states = states & {self.stored}
        return sorted(states - ENDED_WORKFLOW_STATES if self.only_ongoing else states)

    @property
    def is_narrow(self) -> bool:
        """True if few workflows are wanted, and another index than that of states finds them."""
        has_index = self.traits is not None and self.traits.is_narrow
        is_few = self.state is WorkflowState.PERFORMING or self.hero is not None
        return is_few or has_index or self.is_by_creation or self.is_by_error

    @property
    def is_by_error(self) -> bool:
        """True if the index of errors finds the workflows in the order of their ids."""
        is_other = self.state is WorkflowState.PERFORMING or self.hero is not None
        if is_other or self.is_by_creation or self.traits is None or self.traits.is_narrow:
            return False
        return self.traits.error_class is not None and not self.traits.is_walk

    @property
    def is_sparse(self) -> bool:
        """True if a section may have many workflows of which none is wanted."""
        is_derived = self.state in (WorkflowState.READY, WorkflowState.PAUSED)
        has_traits = self.traits is not None and self.traits.is_asking
        return is_derived or has_traits or self.since is not None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an index in which workflows are ordered by id.

    It is the index by state and type; for `ready` workflows that wait for a person or an event, the
    index of waiting workflows by type.
    """

    state: WorkflowState
    type: str
    is_waiting: bool = False
