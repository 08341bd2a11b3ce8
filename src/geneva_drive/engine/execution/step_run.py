"""Call the user code of one execution: conditions, hooks and body, without holding a lock."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.flow_control import Finish, FlowControl, Reattempt, Skip, Suspend
from geneva_drive.definition.nodes.decision import chosen_branches
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.workflow import start_executing, stop_executing
from geneva_drive.engine import crash_points
from geneva_drive.engine.batches.ranges import expand_batch, expand_map
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.event_loop import BodyTimedOut
from geneva_drive.engine.execution import bodies, detached_hero, unknown_step, wait_result
from geneva_drive.engine.execution.bodies import loop_of
from geneva_drive.engine.execution.document_outcome import DocumentStep
from geneva_drive.engine.execution.exception_outcome import of_signal, react
from geneva_drive.engine.execution.run_context import RunContext
from geneva_drive.engine.execution.wait_result import NO_RESULT, WaitResult
from geneva_drive.engine.heroes import heroes
from geneva_drive.engine.limits.slots import WantedSlot, wanted_by
from geneva_drive.engine.loops.early_stops import EarlyStops
from geneva_drive.engine.loops.step_loop import StepLoop
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import (
    Canceled,
    Decided,
    Divided,
    ErrorDetails,
    Lost,
    Raised,
    Returned,
    Skipped,
    StepOutcome,
    Suspended,
    recorded_outcome,
)
from geneva_drive.engine.waits.wait import WaitPlanned
from geneva_drive.errors import HeroGone, InvalidInput, StepTimedOut
from geneva_drive.iteration.interruption import Interrupted, PartitionsFound, RanTooLong
from geneva_drive.serialization import typed_json
from geneva_drive.states import Outcome
from geneva_drive.storage.connections import open_writes
from geneva_drive.storage.connections.database_wait import TroubleLasts
from geneva_drive.storage.schema.records import ExecutionRecord

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Failed:
    """User code raised; its policy is applied once no transaction is open."""

    error: BaseException
    timed_out: bool = False


BodyArguments = tuple[Any, ...]
_NO_EARLY_STOPS = EarlyStops()

# A body that returns or raises one of these commits its writes with the step's transaction.
_COMMITTING = (Skip, Finish, Reattempt, Suspend, Interrupted, PartitionsFound)


class StepRun:
    """Calls the user code of one claimed execution, and nothing else.

    Conditions, hooks and body share one instance. Whatever they do becomes an outcome; an
    interrupt of the process becomes `Lost`, which releases the execution.
    """

    def __init__(
        self,
        environment: Environment,
        claimed: Claimed,
        definition: Definition,
        early_stops: EarlyStops = _NO_EARLY_STOPS,
    ) -> None:
        self._environment = environment
        self._claimed = claimed
        self._definition = definition
        self.node = claimed.node_in(definition)  # None: it has no such step
        self.context = RunContext(
            lambda: environment, definition, claimed.workflow, claimed.execution
        )
        self._instance = start_executing(definition.workflow_class, self.context)
        self._early_stops = early_stops
        self.loop: StepLoop | None = None  # set by prepare(), if the body is to run
        self._started = time.monotonic()
        self.wanted: tuple[WantedSlot, ...] = ()  # set by prepare(), if the body is to run
        self._wait_result = NO_RESULT  # the result of the node's wait; set by prepare()
        self.document: DocumentStep | None = None
        if definition.is_document and self.node is not None:
            self.document = DocumentStep(definition, self.node, claimed, environment.settings)
        self.has_begun = False  # the body was called at least once
        self.discards_writes = False  # roll back, even if a hook swallowed what the body raised

    @property
    def position(self) -> LoopPosition | None:
        """The position of a resumable step's loop after its body has run."""
        return self.loop.last_position() if self.loop else None

    @property
    def needs_transaction(self) -> bool:
        return self.node is not None and self.node.options.transaction

    def prepare(self) -> StepOutcome | None:
        """Return None if the body is to run; else the outcome, for example of a condition.

        Raises `WaitPlanned` if the node has to wait first.
        """
        if self.node is None:
            return unknown_step.outcome(self._environment, self._claimed, self._definition)
        if self.node.is_removed:
            return Skipped(Outcome.SKIPPED_BY_REMOVAL)
        try:
            ended = self._check_conditions(self.node) or self._read_wait_result(self.node)
            if ended is None:
                self.loop = self._find_loop(self.node)
                self.wanted = self._slots_to_take(self.node)
            return ended  # noqa: TRY300 - user code above may raise
        except (TroubleLasts, WaitPlanned):
            raise
        except FlowControl as signal:
            return of_signal(signal)
        except (KeyboardInterrupt, SystemExit) as interrupt:
            return self._interrupted(interrupt)
        except BaseException as error:  # noqa: BLE001 - user code may raise anything; it is recorded
            return self._react(Failed(error))

    def _find_loop(self, node: Node) -> StepLoop | None:
        environment, claimed, definition = self._environment, self._claimed, self._definition
        call = partial(self._call_once, arguments=())
        return loop_of(environment, claimed, definition, node, self._early_stops, call)

    def _read_wait_result(self, node: Node) -> StepOutcome | None:
        """Keep the result of the node's wait; return the outcome if the body is not to run."""
        if not node.waits:
            return None
        found = wait_result.find(
            self._environment, self._claimed.execution, self._definition, node, self._instance
        )
        if isinstance(found, Decided) and self.document is not None:
            return self.document.timed_out(found)
        if not isinstance(found, WaitResult):
            return found
        self._wait_result = found
        return None

    def run_body(
        self, *arguments: Any, flush: Callable[[], None] | None = None
    ) -> StepOutcome | Failed:
        """Run hooks and body; call `flush` after a body whose writes will commit.

        Raises `WaitPlanned` if the node has to wait.
        """
        ended = self._run_body(arguments, flush)
        if self.loop is None or isinstance(ended, Failed | Lost):
            return ended
        try:
            self.loop.position()
        except InvalidInput as error:  # the cursor cannot be stored: the step's own fault
            return Failed(error)
        return ended

    def _run_body(
        self, arguments: BodyArguments, flush: Callable[[], None] | None
    ) -> StepOutcome | Failed:
        self.has_begun = True
        self.discards_writes = False
        node = self._require_node()
        result = None  # for an around-hook that swallows what the body raised
        try:
            self._instance.before_step_starts(node.name)
            with self._instance.around_step(node.name):
                if flush is None:
                    result = self._call(node, arguments)
                else:
                    result = self._call_and_flush(node, arguments, flush)
            return self._timed_out(node) if self._is_late(node) else self._returned(node, result)
        except (crash_points.Crash, WaitPlanned, TroubleLasts):
            raise
        except (Interrupted, PartitionsFound) as leave:
            return self._loop_outcome(leave)
        except FlowControl as signal:
            return of_signal(signal)
        except (BodyTimedOut, RanTooLong):
            return self._timed_out(node)
        except (KeyboardInterrupt, SystemExit) as interrupt:
            return self._interrupted(interrupt)
        except BaseException as error:  # noqa: BLE001 - user code may raise anything; it is recorded
            return Failed(error)

    def _returned(self, node: Node, result: Any) -> StepOutcome:
        """Return the outcome of a body that returned; raises if the result cannot be kept."""
        if node.expands and not self._claimed.execution.is_worker:
            return self._expansion_outcome(node, result)
        if self.document is not None:
            return self.document.returned(result, self._wait_result.outcome)
        if self._wait_result.outcome is not None:
            return self._wait_result.outcome
        return Returned(self._stored_result(node, result), self._chosen_branches(node, result))

    def conclude(self, ended: StepOutcome | Failed) -> StepOutcome:
        """Turn a failure into an outcome by the policies, and call the after-hook."""
        outcome = self._react(ended) if isinstance(ended, Failed) else ended
        ending = recorded_outcome(outcome, self._execution_now())
        if ending is None or isinstance(outcome, Lost):
            return outcome
        try:
            self._instance.after_step_ends(self._require_node().name, ending)
        except TroubleLasts:
            raise
        except FlowControl as signal:
            return of_signal(signal, outcome.error if isinstance(outcome, Raised) else None)
        except (KeyboardInterrupt, SystemExit) as interrupt:
            return self._interrupted(interrupt)
        except BaseException as error:  # noqa: BLE001 - a hook that raises is like the step raising
            return self._react(Failed(error))
        return outcome

    def count_of(self, name: str) -> int:
        """Return how many times in a row the step has failed under the policy with this name."""
        return self._execution_now().failure_counts.get(name, 0)

    def time_out(self) -> StepOutcome:
        """Return the outcome of a body that still runs past its timeout."""
        return self._react(self._timed_out(self._require_node()))

    def close(self) -> None:
        if self.loop is not None:
            self.loop.close()
        stop_executing(self._instance)

    def _require_node(self) -> Node:
        assert self.node is not None, "prepare() ends an execution of an unknown step"
        return self.node

    def _check_conditions(self, node: Node) -> StepOutcome | None:
        workflow = self._claimed.workflow
        workflow_class = self._definition.workflow_class
        try:
            if (
                not workflow_class.may_proceed_without_hero
                and workflow.hero_type is not None
                and heroes.is_checkable(workflow_class, workflow.hero_type)
            ):
                _ = self._instance.hero
            if any(test.holds(self._instance) for test in self._definition.cancel_conditions):
                return Canceled(Outcome.CANCELED_BY_CONDITION)
        except HeroGone as gone:
            return Canceled(Outcome.CANCELED_BY_CONDITION, ErrorDetails.of(gone))
        condition = node.options.condition
        has_waited = partial(
            wait_result.has_waited, self._environment, self._claimed.execution, node
        )
        if condition is not None and not has_waited():
            is_skipped = condition.skips(self._instance)
            return Skipped(Outcome.SKIPPED_BY_CONDITION) if is_skipped else None
        return None

    def _slots_to_take(self, node: Node) -> tuple[WantedSlot, ...]:
        execution, settings = self._claimed.execution, self._environment.settings
        if node.options.limit is None and execution.queue not in settings.queue_limits:
            return ()
        return wanted_by(execution, self._definition, node, self._instance, settings)

    def _execution_now(self) -> ExecutionRecord:
        return self.loop.execution_now() if self.loop else self._claimed.execution

    def _loop_outcome(self, leave: Interrupted | PartitionsFound) -> StepOutcome | Failed:
        """Return the outcome of a loop that was left before its end."""
        if isinstance(leave, Interrupted):
            return Suspended(leave.by, leave.wait)
        return self._division_outcome(leave)

    def _division_outcome(self, division: PartitionsFound) -> StepOutcome | Failed:
        limit = self._environment.settings.max_cursor_size
        try:
            for border in division.borders:
                typed_json.dump_cursor(border, limit)
        except InvalidInput as error:
            return Failed(error)
        return Divided(division.after, division.borders)

    def _call_and_flush(
        self, node: Node, arguments: BodyArguments, flush: Callable[[], None]
    ) -> Any:
        self.discards_writes = True
        try:
            result = self._call(node, arguments)
        except _COMMITTING:
            flush()
            self.discards_writes = False
            raise
        flush()
        self.discards_writes = False
        return result

    def _call(self, node: Node, arguments: BodyArguments) -> Any:
        if self.loop is None:
            return self._call_once(node, arguments)
        with open_writes.watching():
            while True:
                try:
                    returned = self._call_once(node, (self.loop.make_it(node), *arguments))
                except Exception as error:
                    # Call the body again only if the step skips the item that raised.
                    if not self.loop.skips(error):
                        raise
                else:
                    if not self.loop.goes_on_after(returned):
                        return returned

    def _call_once(self, node: Node, arguments: BodyArguments) -> Any:
        environment, execution = self._environment, self._claimed.execution
        combined = self._wait_result.arguments + arguments
        returned = bodies.call(
            environment, execution, self._definition, node, self._instance, combined
        )
        # Even a plain function may return a coroutine, which has not started yet.
        if not inspect.iscoroutine(returned):
            return returned
        try:
            return environment.loop.run(returned, node.options.timeout, self._warn_of_blocking)
        except BaseExceptionGroup as group:
            lasts = TroubleLasts.among(group)
            if lasts is not None:
                raise lasts from group
            raise

    def _warn_of_blocking(self, duration: timedelta) -> None:
        self._instance.logger.warning(
            "Step %r blocked the event loop for %.1f s: meanwhile no other async step of this "
            "process ran. Run what blocks by `await asyncio.to_thread(...)`, or make the step a "
            "plain `def`.",
            self._require_node().name,
            duration.total_seconds(),
        )

    def _chosen_branches(self, node: Node, result: Any) -> tuple[str, ...] | None:
        if node.kind is not NodeKind.DECISION:
            return None
        return chosen_branches(self._definition, node, result)

    def _expansion_outcome(self, node: Node, returned: Any) -> StepOutcome:
        """Return the outcome of a batch or map; raises if its body returned no workers."""
        if node.is_map:
            return expand_map(node, returned, self._environment.settings.max_payload_size)
        return expand_batch(self._environment, self._definition, node, returned)

    def _stored_result(self, node: Node, result: Any) -> str | None:
        if not node.keeps_result:
            return None
        if node.child is not None:
            return result  # type: ignore[no-any-return]  # stored by the child as typed JSON
        return self.context.dump_result(result)

    def _is_late(self, node: Node) -> bool:
        if node.options.timeout is None:
            return False
        elapsed = time.monotonic() - self._started - self._environment.store.database.waited
        return elapsed > node.options.timeout.total_seconds()

    def _timed_out(self, node: Node) -> Failed:
        assert node.options.timeout is not None, "only a step with a timeout can exceed it"
        return Failed(StepTimedOut(node.name, node.options.timeout), timed_out=True)

    def _interrupted(self, interrupt: BaseException) -> Lost:
        # Counted as a recovery: otherwise a body that calls sys.exit() would run again forever.
        said = f" ({interrupt})" if str(interrupt) else ""
        why = f"The execution was released: {type(interrupt).__name__}{said} in its worker."
        return Lost(why, self._environment.settings.max_recoveries, interrupt)

    def _react(self, failed: Failed) -> StepOutcome:
        detached_hero.explain(failed.error, self.context.loaded_hero)
        try:
            left = unknown_step.left_to_others(self._environment, self._claimed, failed.error)
            return left or react(
                failed.error,
                definition=self._definition,
                node=self._require_node(),
                instance=self._instance,
                execution=self._execution_now(),
                timed_out=failed.timed_out,
            )
        except (KeyboardInterrupt, SystemExit) as interrupt:
            return self._interrupted(interrupt)
