"""What one command would do."""

from __future__ import annotations

from dataclasses import dataclass

from geneva_drive.storage.schema.records import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequence:
    """A command that is possible now, and what follows from it according to the definition.

    The sentence has the names of nodes in backticks. It says which steps will be run; each may
    still fail, finish the workflow or be skipped by its condition.
    """

    command: str  # of a handle, a choice of an approval, "publish" or "expire"
    node: str | None  # the id of the node that it is about
    label: str  # of its button; an ellipsis announces a form
    sentence: str
    runs_next: tuple[str, ...] = ()  # ids of nodes that it makes due
    runs_later: tuple[str, ...] = ()  # after these, unless a choice or a failure prevents it
    may_run: tuple[str, ...] = ()  # nodes after a choice that is not made yet
    never_runs: tuple[str, ...] = ()
    approval_id: Key | None = None
    is_dangerous: bool = False  # it ends the workflow
