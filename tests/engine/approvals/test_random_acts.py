"""Random acts on workflows with approvals: the tables agree after each, and all of them end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.definition.workflow import definition_of
from geneva_drive.errors import InvalidInput, InvalidStateError, NotPermitted
from geneva_drive.states import ENDED_WORKFLOW_STATES, Outcome
from geneva_drive.testing import crash_after, drain, expire_leases
from tests.approval_ledger import assert_consistent

EXAMPLES = {"sqlite": 12, "postgresql": 2, "mysql": 2}
MOST_TURNS = 30
HOUR = timedelta(hours=1)
PEOPLE = ("ann", "ben", "cas")
DECIDED = (Outcome.APPROVED, Outcome.REJECTED, Outcome.EXPIRED)

Handle = gd.WorkflowHandle[Any]


class BodyFailed(Exception):
    """Raised by a body that the example lets fail."""


@dataclass
class Bodies:
    """What the bodies of an example did."""

    returned: Counter[str]  # by the name of the step
    fails: bool = False  # the next body raises

    def run(self, name: str) -> None:
        if self.fails:
            self.fails = False
            raise BodyFailed(name)
        self.returned[name] += 1


def make_chain(bodies: Bodies) -> type[gd.Workflow[Any]]:
    class Chain(gd.Workflow[Any]):
        @gd.step
        def prepare(self) -> None:
            bodies.run("prepare")

        @gd.approval(role="clerk", timeout=2 * HOUR, on_reject="continue", on_timeout="approve")
        def clerk(self, decision: gd.ApprovalDecision[Any]) -> None:
            bodies.run("clerk")

        @gd.approval(
            approvers=PEOPLE,
            quorum=2,
            reject_quorum=2,
            timeout=HOUR,
            on_timeout="escalate",
            escalate_to="board",
        )
        def board(self, decision: gd.ApprovalDecision[Any]) -> None:
            bodies.run("board")

        @gd.step
        def ship(self) -> None:
            bodies.run("ship")

    return Chain


def make_graph(bodies: Bodies) -> type[gd.Workflow[Any]]:
    class Graph(gd.Workflow[Any]):
        @gd.step
        def prepare(self) -> None:
            bodies.run("prepare")

        @gd.approval(
            depends_on=prepare,
            role="lawyer",
            choices=("approve", "approve_once", "reject"),
            timeout=HOUR,
            on_reject="apologize",
            on_timeout="pause",
        )
        def lawyer(self, decision: gd.ApprovalDecision[Any]) -> None:
            bodies.run("lawyer")

        @gd.approval(depends_on=prepare, role="banker", quorum=2, timeout=3 * HOUR)
        def banker(self, decision: gd.ApprovalDecision[Any]) -> None:
            bodies.run("banker")

        @gd.task(depends_on=prepare)
        def pack(self) -> None:
            bodies.run("pack")

        @gd.task(depends_on=lawyer)
        def apologize(self) -> None:
            bodies.run("apologize")

        @gd.task(depends_on=[lawyer, banker, pack])
        def ship(self) -> None:
            bodies.run("ship")

    return Graph


class Example:
    """One workflow, and everything that may happen to it."""

    def __init__(
        self,
        drive: gd.Drive,
        workflow_class: type[gd.Workflow[Any]],
        bodies: Bodies,
        clock: ShiftedClock,
    ) -> None:
        bodies.returned.clear()
        bodies.fails = False
        self._bodies = bodies
        self._clock = clock
        self._lost = 0  # bodies that returned before a crash
        self._seen: list[gd.Approval] = []
        self._names = definition_of(workflow_class).step_names
        self.workflow: Handle = workflow_class.using(drive).create(actor="ann")
        self._drive = drive

    def act(self, name: str, number: int) -> None:
        """Do one thing, which may be refused; the database must be consistent after it."""
        acts: dict[str, Callable[[int], object]] = {
            "drain": lambda _: drain(self._drive),
            "vote": self._vote,
            "escalate": self._escalate,
            "delegate": self._delegate,
            "wait": lambda _: self._clock.advance(HOUR),
            "fail": lambda _: setattr(self._bodies, "fails", True),
            "crash": self._crash,
            "pause": lambda _: self.workflow.pause(),
            "resume": lambda _: self.workflow.resume(),
            "cancel": lambda _: self.workflow.cancel(),
            "skip": lambda n: self.workflow.skip(self._name(n)),
            "rewind": lambda n: self.workflow.rewind(self._name(n)),
            "reattempt": lambda n: self.workflow.reattempt(self._name(n), rewind=n % 2 == 0),
            "resume_at": lambda n: self.workflow.resume_at(self._name(n)),
            # A chain stays one: `resume_at` leaves canceled steps behind, which a graph runs again.
            "freeze": lambda _: self.workflow.is_graph and self.workflow.freeze_dag(),
        }
        self._seen += self._drive.approvals.pending()
        with suppress(InvalidStateError, NotPermitted, InvalidInput):
            acts[name](number)
        self.check()

    def check(self) -> None:
        ledger = assert_consistent(self._drive)
        recorded = Counter(one.step_name for one in ledger.executions if one.outcome in DECIDED)
        returned = sum(self._bodies.returned[name] for name in recorded)
        # Flow control and commands leave the body of a decision alone; only a crash repeats it.
        assert returned <= recorded.total() + self._lost
        state, needs = self.workflow.reload().state, self.workflow.needs
        assert (needs == "none") is (state in ENDED_WORKFLOW_STATES)
        assert needs != "person" or self._drive.approvals.pending().count() > 0

    def finish(self) -> None:
        """Approve, resume and run until the end."""
        self._bodies.fails = False
        for turn in range(MOST_TURNS):
            expire_leases(self._drive)
            drain(self._drive)
            self.check()
            if self.workflow.reload().state in ENDED_WORKFLOW_STATES:
                break
            for approval in self._drive.approvals.pending():
                approval.approve(by=f"closer {turn}")
            if self.workflow.reload().needs == "operator":
                self.workflow.resume()
        assert self.workflow.state in ENDED_WORKFLOW_STATES
        assert self._drive.approvals.pending().count() == 0

    def _name(self, number: int) -> str:
        return self._names[number % len(self._names)]

    def _request(self, number: int) -> gd.Approval:
        """Return a request as it was read at any time, pending or not."""
        if not self._seen:
            raise InvalidStateError("Nothing was asked yet.")
        return self._seen[-1 - number % min(3, len(self._seen))]

    def _vote(self, number: int) -> None:
        request = self._request(number)
        choice = "reject" if number % 5 == 0 else "approve"
        person = PEOPLE[number % 3]
        before = request.reload().state
        request.decide(choice, by=person)
        assert before == "pending"

    def _escalate(self, number: int) -> None:
        self._request(number).escalate(to=f"role {number}", by=PEOPLE[number % 3])

    def _delegate(self, number: int) -> None:
        person = PEOPLE[number % 3]
        self._request(number).delegate(to=PEOPLE[(number + 1) % 3], by=person)

    def _crash(self, number: int) -> None:
        point = ("claim", "body", "commit")[number % 3]
        try:
            with crash_after(point):  # type: ignore[arg-type]
                drain(self._drive)
        except AssertionError as error:
            if not str(error).startswith("No execution reached"):
                raise
            return
        if point == "body":
            self._lost += 1
        expire_leases(self._drive)


ACTS = st.tuples(
    st.sampled_from(
        [
            *("drain",) * 4,
            *("vote",) * 6,
            *("crash",) * 2,
            *("wait",) * 2,
            *("pause", "resume", "skip", "rewind", "reattempt", "resume_at"),
            *("escalate", "delegate", "fail", "cancel", "freeze"),
        ]
    ),
    st.integers(0, 11),
)


@pytest.fixture
def holding(
    geneva_database_url: str, geneva: gd.Drive, geneva_clock: ShiftedClock
) -> Iterator[gd.Drive]:
    """A Drive on the same database, in which an operator resumes what was decided."""
    with closing(
        gd.Drive(geneva_database_url, clock=geneva_clock, auto_resume_after_approval=False)
    ) as drive:
        yield drive


def test_whatever_happens_the_tables_agree_and_every_workflow_ends_once_it_is_decided(
    geneva: gd.Drive,
    holding: gd.Drive,
    uuid_drive: gd.Drive,
    geneva_clock: ShiftedClock,
    database: str,
) -> None:
    uuid_drive.clock = geneva_clock
    drives = st.sampled_from([geneva, holding, uuid_drive])
    bodies = Bodies(Counter())
    classes = (make_chain(bodies), make_graph(bodies))

    @settings(max_examples=EXAMPLES[database])
    @given(st.sampled_from(classes), drives, st.lists(ACTS, min_size=5, max_size=20))
    def run(
        workflow_class: type[gd.Workflow[Any]], drive: gd.Drive, acts: list[tuple[str, int]]
    ) -> None:
        drive.store.write(drive.store.empty)
        example = Example(drive, workflow_class, bodies, geneva_clock)
        drain(drive)
        for name, number in acts:
            example.act(name, number)
        example.finish()

    run()
