"""The confirmation of a command for a group: the exact count, and what will happen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from geneva_drive.drive.drive import Drive
from geneva_drive.web.dashboard.pages.failures.groups import GroupView
from geneva_drive.web.dashboard.shell.words import number, plural

WHERE = "where."  # before the filters of a group in the form
_ENDING = "They end now. Steps that are left never run. What has run is not undone."


@dataclass(frozen=True, slots=True)
class GroupConfirmation:
    """A command for a group, with the count of workflows and the consequence."""

    command: str
    count: int
    sentence: str
    where: Mapping[str, str]

    @property
    def title(self) -> str:
        return f"{self.command.capitalize()} {plural(self.count, 'workflow')}?"

    @property
    def button(self) -> str:
        return f"{self.command.capitalize()} {number(self.count)}"

    @property
    def fields(self) -> dict[str, str]:
        return {"command": self.command, **{WHERE + k: v for k, v in self.where.items()}}


def confirmation_of(drive: Drive, view: GroupView, name: str) -> GroupConfirmation | None:
    """Return the confirmation; None if the command does not apply to the group."""
    if not (view.is_held if name == "resume" else view.is_open):
        return None
    where = view.group.where
    found = drive.bulk(name, where, dry_run=True)
    sentence = _resumption(drive, view) if name == "resume" else _ENDING
    return GroupConfirmation(name, found.count, sentence, where)


def _resumption(drive: Drive, view: GroupView) -> str:
    """Return the consequence of resuming, from the latest workflow of the group."""
    again = "Those that fail again come back to this group."
    store = drive.store
    key = view.group.sample_ids[0]
    record = store.read(lambda connection: store.workflows.get(connection, key))
    if record is not None:
        for one in drive.open_handle(record).what_if():
            if one.command == "resume" and one.sentence.startswith("Runs "):
                return f"Each runs {one.sentence.removeprefix('Runs ')} {again}"
    return f"Each runs `{view.group.step}` again. {again}"
