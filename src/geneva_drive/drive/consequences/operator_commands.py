"""What the commands of operators would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.consequences.sentences import (
    choice_behind,
    code,
    count_of,
    named,
    runs,
    start,
    then,
)
from geneva_drive.drive.consequences.situation import Standing
from geneva_drive.drive.consequences.walk import Ahead, walk
from geneva_drive.states import Request, StepState, WorkflowState

_FEW = 2  # nodes that never run and are all named


def resume(standing: Standing) -> Consequence | None:
    """Release what is held, and run again what failed."""
    workflow = standing.workflow
    is_requested = bool(standing.running) and workflow.requested is Request.PAUSE
    if workflow.state is not WorkflowState.PAUSED and not is_requested:
        return None
    again = standing.failed
    batches = [one.node_id for one in standing.blocked_expansions]
    ahead = walk(standing, again=[*again, *batches])
    if is_requested and not again and not standing.blocked_expansions:
        ends = f"{runs(standing, standing.running, 'goes', 'go')} on"
        sentence = f"Withdraws the pause: {ends}.{then(standing, ahead)}"
    else:
        sentence = f"{_resumed(standing, again)}{_rest(standing, again, ahead)}"
    held = standing.active
    return Consequence(
        command="resume",
        node=None,
        label="Resume",
        sentence=sentence,
        runs_next=(*again, *held, *ahead.next),
        runs_later=ahead.later,
        may_run=ahead.perhaps,
    )


def _resumed(standing: Standing, again: Sequence[str]) -> str:
    parts = []
    for one in standing.blocked_expansions:
        workers = count_of(one.failed, "failed worker")
        parts.append(f"Runs {workers} of {code(standing, one.node_id)} again.")
    if again:
        parts.append(f"Runs {named(standing, again)} again{_reattempts(standing, again)}.")
    due = standing.all_with(StepState.SCHEDULED) + standing.all_with(StepState.SUSPENDED)
    if due:
        parts.append(f"Releases {named(standing, due)}.")
    waiting = standing.all_with(StepState.WAITING)
    if waiting:
        parts.append(f"{runs(standing, waiting, 'goes', 'go')} on waiting.")
    return " ".join(parts) or "Goes on."


def _reattempts(standing: Standing, again: Sequence[str]) -> str:
    limits = {standing.reattempts(each) for each in again}
    if len(limits) != 1 or None in limits:
        return ""
    each = " each" if len(again) > 1 else ""
    return f", with {count_of(max(limits, key=lambda one: one or 0) or 0, 'new reattempt')}{each}"


def _rest(standing: Standing, again: Sequence[str], ahead: Ahead) -> str:
    return then(standing, ahead) or choice_behind(standing, again)


def pause(standing: Standing) -> Consequence | None:
    """Hold the workflow."""
    workflow = standing.workflow
    if workflow.state is not WorkflowState.READY or workflow.requested is not None:
        return None
    ahead = walk(standing)
    running = standing.running
    due = standing.all_with(StepState.SCHEDULED) + standing.all_with(StepState.SUSPENDED)
    if running:
        sentence = f"{runs(standing, running, 'ends', 'end')} first. Then nothing starts"
    elif due:
        sentence = f"{runs(standing, due, 'does', 'do')} not start"
    elif standing.all_with(StepState.WAITING):
        sentence = "It goes on waiting, and what arrives takes effect when it is resumed"
        return _pausing(f"{sentence}.", ())
    else:
        sentence = "Nothing starts"
    return _pausing(f"{sentence} until the workflow is resumed.", (*due, *ahead.next))


def _pausing(sentence: str, held: tuple[str, ...]) -> Consequence:
    return Consequence(
        command="pause", node=None, label="Pause…", sentence=sentence, runs_later=held
    )


def cancel(standing: Standing) -> Consequence | None:
    """End the workflow."""
    if standing.workflow.requested is Request.CANCEL:
        return None
    never = tuple(standing.never_started())
    running = standing.running
    when = f" once {runs(standing, running, 'has', 'have')} ended" if running else ""
    return Consequence(
        command="cancel",
        node=None,
        label="Cancel…",
        sentence=f"Ends the workflow{when}.{never_words(standing, never)}{undone_words(standing)}",
        never_runs=never,
        is_dangerous=True,
    )


def never_words(standing: Standing, never: Sequence[str]) -> str:
    """Return a sentence about nodes that never run, with a space before it."""
    if not never:
        return ""
    if len(never) <= _FEW:
        return f" {runs(standing, never, 'never runs', 'never run')}."
    return f" {code(standing, never[0])} and {len(never) - 1:,} more nodes never run."


def undone_words(standing: Standing) -> str:
    has_run = any(node.started_at is not None for node in standing.view.nodes.values())
    return " What has run is not undone." if has_run else ""


def passages(standing: Standing, nodes: Sequence[str]) -> Iterator[Consequence]:
    """Yield what skipping, completing and resolving each of these `passable` nodes would do."""
    for node_id in nodes:
        yield _skip(standing, node_id)
        if standing.has_failed(node_id):
            yield from _manual(standing, node_id)


def passable(standing: Standing) -> list[str]:
    """Return the nodes that can be skipped: they have failed, or are due and do not run."""
    if standing.workflow.requested is Request.CANCEL:
        return []
    if standing.is_chain:
        present = standing.workflow.next_step_name
        is_known = present in standing.view.nodes and not standing.running
        return [present] if is_known and present is not None else []
    due = [
        key
        for key in standing.active
        if not standing.is_running(key) and key not in standing.expansions
    ]
    return [*standing.failed, *due]


def _skip(standing: Standing, node_id: str) -> Consequence:
    ahead = walk(standing, done=[node_id])
    name = standing.node(node_id).name
    others = [each for each in standing.failed if each != node_id]
    is_paused = standing.workflow.state is WorkflowState.PAUSED
    if is_paused and others and not standing.is_chain:
        stays = f"The workflow stays paused: {runs(standing, others, 'has', 'have')} failed too."
        sentence = f"Passes over {code(standing, node_id)}. {stays}"
    else:
        sentence = f"Goes on without {code(standing, node_id)}. {_onward(standing, ahead)}"
    return Consequence(
        command="skip",
        node=node_id,
        label=f"Skip {name}…",
        sentence=sentence,
        runs_next=ahead.next,
        runs_later=ahead.later,
        may_run=ahead.perhaps,
    )


def _onward(standing: Standing, ahead: Ahead) -> str:
    if ahead.next:
        return start(standing, ahead.next)
    if ahead.later:
        return f"{runs(standing, ahead.later[:1], 'still waits', '')} for other nodes."
    if ahead.blocked:
        return f"{runs(standing, ahead.blocked, 'still waits', 'still wait')} for failed nodes."
    return (
        "Other nodes go on."
        if len(standing.active) > 1
        else "Nothing follows: the workflow finishes."
    )


def _manual(standing: Standing, node_id: str) -> Iterator[Consequence]:
    declared, name = standing.declared(node_id), code(standing, node_id)
    ahead = walk(standing, done=[node_id])
    ways = [("resolve_manually", "Resolve…", "without a result")]
    if declared is None or not (declared.is_approval or declared.is_event_wait):
        ways.insert(0, ("complete_manually", "Complete…", "with a result that you enter"))
    for command, label, result in ways:
        yield Consequence(
            command=command,
            node=node_id,
            label=label,
            sentence=f"Records {name} as done by hand, {result}.",
            runs_next=ahead.next,
            runs_later=ahead.later,
            may_run=ahead.perhaps,
        )


def repairable(standing: Standing) -> list[str]:
    """Return the nodes that can be reattempted: they failed, and nothing behind them is done."""
    if standing.workflow.requested is Request.CANCEL or (standing.is_chain and standing.running):
        return []
    return standing.failed


def repairs(standing: Standing, nodes: Sequence[str]) -> Iterator[Consequence]:
    """Yield what reattempting and resetting each of these `repairable` nodes would do."""
    for node_id in nodes:
        # A document goes on from where it stands, whichever of its steps ran before.
        is_fixed = standing.document is None
        if is_fixed and any(map(standing.is_done, standing.graph.downstream(node_id))):
            continue
        ahead = walk(standing, again=[node_id])
        others = [each for each in standing.failed if each != node_id]
        again = f"Runs {code(standing, node_id)} again{_reattempts(standing, [node_id])}."
        rest = _rest(standing, [node_id], ahead)
        if others:
            failed = runs(standing, others, "has", "have")
            rest = f" Then the workflow pauses again: {failed} failed too."
        name = standing.node(node_id).name
        for command, label in (("reattempt", "Reattempt"), ("reset_for_retry", "Reset")):
            counted = "" if command == "reattempt" else " Its recoveries are counted from zero."
            yield Consequence(
                command=command,
                node=node_id,
                label=f"{label} {name}…",
                sentence=f"{again}{counted}{rest}",
                runs_next=(node_id,),
                runs_later=() if others else (*ahead.next, *ahead.later),
                may_run=() if others else ahead.perhaps,
            )
