"""Old and new code side by side: a step that only new code knows is left to it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.definition.workflow import definition_of
from tests.limiting import StillClock
from tests.worker.watching import rows_of

OLD = ("reserve", "ship")
NEW = ("reserve", "inspect", "ship")

_deployed: list[type] = []


def _deploy(*step_names: str) -> type[gd.Workflow[Any]]:
    """Define Order anew, as the code of another release does."""

    def body(self: gd.Workflow[Any]) -> None: ...

    steps = {name: gd.step(body) for name in step_names}
    release = type("Order", (gd.Workflow,), {"__module__": __name__, **steps})
    # A process knows a class only as long as somebody holds it; a module would.
    _deployed.append(release)
    return release


def _start_elsewhere(drive: gd.Drive, release: type[gd.Workflow[Any]]) -> None:
    """Let a worker with that release be alive in another process."""
    store = drive.store
    signatures = {"Order": definition_of(release).signature}
    store.write(
        lambda connection: store.workers.register(
            connection, "elsewhere", name="elsewhere:1", queues=None, signatures=signatures
        )
    )


def _standing_at_inspect() -> gd.WorkflowHandle[Any]:
    """Make a workflow that new code has brought to the step that old code does not know."""
    order = _deploy(*NEW).create()
    order.resume_at("inspect")
    return order


VANISHED = (
    "Workflow 'Order' has no step 'inspect'. Its steps are: reserve, ship. An execution is at "
    'this step. Put `inspect = gd.removed_step()` where it was, or `renamed_from="inspect"` on its '
    "successor, and resume; or choose the step to continue at: `resume_at` in code, "
    "`geneva resume ID --at STEP` in the shell."
)


def test_old_code_hands_a_step_over_while_new_code_is_alive(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    order = _standing_at_inspect()
    _start_elsewhere(geneva, _deploy(*NEW))
    _deploy(*OLD)

    geneva.worker().run_until_idle()

    assert order.reload().state == "ready"
    assert order.why() == (
        "Step 'inspect' is not in this process's code of Order. It is left to workers with newer "
        "code; if none is seen for ten minutes, the step fails."
    )
    handed_over = order.step_executions[-1]
    assert (handed_over.step_name, handed_over.state) == ("inspect", "scheduled")
    assert (handed_over.attempt_number, handed_over.worker_id) == (1, None)

    new = _deploy(*NEW)
    geneva_clock.advance(timedelta(seconds=3))
    geneva.worker().run_until_idle()

    assert new.finished().count() == 1
    assert rows_of(order)[-2:] == [
        ("inspect", "completed", "success"),
        ("ship", "completed", "success"),
    ]


def test_what_was_handed_over_rests_before_anybody_takes_it_again(geneva: gd.Drive) -> None:
    geneva.clock = StillClock()  # it rests for two seconds, however long the workers take
    order = _standing_at_inspect()
    _start_elsewhere(geneva, _deploy(*NEW))
    _deploy(*OLD)
    geneva.worker().run_until_idle()

    _deploy(*NEW)
    geneva.worker().run_until_idle()

    assert rows_of(order)[-1] == ("inspect", "scheduled", None)


def test_old_code_fails_a_step_that_nobody_knows(geneva: gd.Drive) -> None:
    order = _standing_at_inspect()
    _start_elsewhere(geneva, _deploy(*OLD))

    geneva.worker().run_until_idle()

    failed = order.reload().step_executions[-1]
    assert (order.state, order.paused_step_name) == ("paused", "inspect")
    assert (failed.state, failed.outcome) == ("failed", "paused_by_exception")
    assert failed.error_class == "geneva_drive.errors.StepVanished"
    assert failed.error_message == VANISHED


def test_old_code_fails_a_step_at_the_end_of_the_grace_period(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    order = _standing_at_inspect()
    _start_elsewhere(geneva, _deploy(*NEW))
    _deploy(*OLD)
    geneva.worker().run_until_idle()
    assert order.reload().state == "ready"

    geneva_clock.advance(timedelta(minutes=10))
    geneva.worker().run_until_idle()

    assert order.reload().state == "paused"
    assert order.step_executions[-1].error_message == VANISHED


def test_a_workflow_stopped_by_a_vanished_step_goes_on_where_it_is_told(geneva: gd.Drive) -> None:
    order = _standing_at_inspect()
    _deploy(*OLD)
    geneva.worker().run_until_idle()

    order.resume_at("ship")
    geneva.worker().run_until_idle()

    assert order.reload().state == "finished"
