"""The application whose processes race for approvals.

`geneva worker --app tests.scenarios.approvals` runs its workflows; `python -m
tests.scenarios.approvals PERSON...` does what the words of each line on its input say, one act for
each person, all at the same moment, and answers with a line.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import geneva_drive as gd
from geneva_drive.errors import InvalidStateError, NotPermitted
from tests.scenarios.effects import EFFECTS
from tests.scenarios.programs import say


class Refund(gd.Workflow[Any]):
    """One approval, whose body leaves an effect for each decision."""

    @gd.approval(
        role="clerk",
        quorum=lambda self: self.context.get("quorum", 1),
        timeout=lambda self: timedelta(seconds=self.context.get("seconds", 3600)),
        on_reject="continue",
        transaction=True,
    )
    def clerk(self, decision: gd.ApprovalDecision[Any], session: Any) -> None:
        session.execute(EFFECTS.insert().values(workflow_id=self.id, step="clerk"))
        release = Path(self.context.get("release", "/"))
        if not release.exists():
            release.with_suffix(".begun").touch()
        while self.attempt == 1 and not release.exists():
            time.sleep(0.02)

    @gd.step
    def pay(self) -> None: ...


class Contract(gd.Workflow[Any]):
    """Two approvals that are asked for at the same moment."""

    @gd.step
    def draft(self) -> None: ...

    @gd.approval(role="clerk", depends_on=draft)
    def lawyer(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    @gd.approval(role="clerk", depends_on=draft)
    def banker(self, decision: gd.ApprovalDecision[Any]) -> None: ...


class Clerk:
    """A thread that acts in one person's name."""

    def __init__(self, drive: gd.Drive, person: str) -> None:
        self._drive = drive
        self._person = person
        self._commands: dict[str, Callable[[str], object]] = {
            "approve": lambda key: self._approval(key).approve(by=person),
            "reject": lambda key: self._approval(key).reject(by=person),
            "escalate": lambda key: self._approval(key).escalate(to="board", by=person),
            "delegate": lambda key: self._approval(key).delegate(to=f"{person}'s aide", by=person),
            "pause": lambda key: self._workflow(key).pause(actor=person),
            "resume": lambda key: self._workflow(key).resume(actor=person),
            "cancel": lambda key: self._workflow(key).cancel(actor=person),
            "die-approving": self._die_approving,
        }

    def obey(self, act: str) -> str:
        """Do as `COMMAND:ID` says, at `COMMAND:ID@MOMENT`, and say whether it was refused."""
        command, key = act.split(":", 1)
        key, _, moment = key.partition("@")
        if moment:
            now = self._drive.clock.now()
            time.sleep(max(0.0, (datetime.fromisoformat(moment) - now).total_seconds()))
        try:
            self._commands[command](key)
        except (InvalidStateError, NotPermitted):
            return f"refused:{command}"
        return f"done:{command}"

    def _approval(self, key: str) -> gd.Approval:
        return self._drive.approvals.get(key)

    def _workflow(self, key: str) -> gd.WorkflowHandle[Any]:
        return gd.Workflow.using(self._drive).find(key)

    def _die_approving(self, key: str) -> None:
        """Die right after the commit, before any worker is told of it."""

        def die() -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        self._drive.environment.wakeups.ring = die  # type: ignore[method-assign]
        self._approval(key).approve(by=self._person)


def main(*people: str) -> None:
    drive = gd.configure()
    clerks = [Clerk(drive, person) for person in people]
    say("ready")
    with ThreadPoolExecutor(len(clerks)) as pool:
        for line in sys.stdin:
            say(" ".join(pool.map(Clerk.obey, clerks, line.split())))


if __name__ == "__main__":
    main(*sys.argv[1:])
