"""What the commands of operators would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.consequences.sentence_parts import (
    choice_after,
    code,
    count_of,
    named,
    runs,
    start,
    then,
)
from geneva_drive.drive.consequences.walk import NOTHING, Ahead, walk
from geneva_drive.drive.consequences.what_if_facts import Situation
from geneva_drive.states import Request, StepState, WorkflowState

_FEW = 2  # up to this many nodes that never run are all named


def resume(situation: Situation) -> Consequence | None:
    workflow = situation.workflow
    is_requested = bool(situation.running) and workflow.requested is Request.PAUSE
    if workflow.state is not WorkflowState.PAUSED and not is_requested:
        return None
    again = situation.failed
    batches = [one.node_id for one in situation.blocked_expansions]
    ahead = walk(situation, again=[*again, *batches])
    if is_requested and not again and not situation.blocked_expansions:
        ends = f"{runs(situation, situation.running, 'goes', 'go')} on"
        sentence = f"Withdraws the pause: {ends}.{then(situation, ahead)}"
    else:
        sentence = f"{_resumed(situation, again)}{_rest(situation, again, ahead)}"
    held = situation.active
    return Consequence(
        command="resume",
        node=None,
        label="Resume",
        sentence=sentence,
        runs_next=(*again, *held, *ahead.next),
        runs_later=ahead.later,
        may_run=ahead.perhaps,
    )


def _resumed(situation: Situation, again: Sequence[str]) -> str:
    parts = []
    for one in situation.blocked_expansions:
        workers = count_of(one.failed, "failed worker")
        parts.append(f"Runs {workers} of {code(situation, one.node_id)} again.")
    if again:
        parts.append(f"Runs {named(situation, again)} again{_reattempts(situation, again)}.")
    due = situation.all_with(StepState.SCHEDULED) + situation.all_with(StepState.SUSPENDED)
    if due:
        parts.append(f"Releases {named(situation, due)}.")
    waiting = situation.all_with(StepState.WAITING)
    if waiting:
        parts.append(f"{runs(situation, waiting, 'goes', 'go')} on waiting.")
    return " ".join(parts) or "Goes on."


def _reattempts(situation: Situation, again: Sequence[str]) -> str:
    limits = {situation.reattempts(each) for each in again}
    if len(limits) != 1 or None in limits:
        return ""
    each = " each" if len(again) > 1 else ""
    return f", with {count_of(max(limits, key=lambda one: one or 0) or 0, 'new reattempt')}{each}"


def _rest(situation: Situation, again: Sequence[str], ahead: Ahead) -> str:
    return then(situation, ahead) or choice_after(situation, again)


def pause(situation: Situation) -> Consequence | None:
    workflow = situation.workflow
    if workflow.state is not WorkflowState.READY or workflow.requested is not None:
        return None
    ahead = walk(situation)
    running = situation.running
    due = situation.all_with(StepState.SCHEDULED) + situation.all_with(StepState.SUSPENDED)
    if running:
        sentence = f"{runs(situation, running, 'ends', 'end')} first. Then nothing starts"
    elif due:
        sentence = f"{runs(situation, due, 'does', 'do')} not start"
    elif situation.all_with(StepState.WAITING):
        sentence = "It goes on waiting, and what arrives takes effect when it is resumed"
        return _pausing(f"{sentence}.", ())
    else:
        sentence = "Nothing starts"
    return _pausing(f"{sentence} until the workflow is resumed.", (*due, *ahead.next))


def _pausing(sentence: str, held: tuple[str, ...]) -> Consequence:
    return Consequence(
        command="pause", node=None, label="Pause…", sentence=sentence, runs_later=held
    )


def cancel(situation: Situation) -> Consequence | None:
    if situation.workflow.requested is Request.CANCEL:
        return None
    never = tuple(situation.never_started())
    running = situation.running
    when = f" once {runs(situation, running, 'has', 'have')} ended" if running else ""
    return Consequence(
        command="cancel",
        node=None,
        label="Cancel…",
        sentence=(
            f"Ends the workflow{when}.{never_words(situation, never)}{undone_words(situation)}"
        ),
        never_runs=never,
        is_dangerous=True,
    )


def never_words(situation: Situation, never: Sequence[str]) -> str:
    """Return a sentence about nodes that never run, with a space before it."""
    if not never:
        return ""
    if len(never) <= _FEW:
        return f" {runs(situation, never, 'never runs', 'never run')}."
    return f" {code(situation, never[0])} and {len(never) - 1:,} more nodes never run."


def undone_words(situation: Situation) -> str:
    has_run = any(node.started_at is not None for node in situation.view.nodes.values())
    return " What has run is not undone." if has_run else ""


def passages(situation: Situation, nodes: Sequence[str]) -> Iterator[Consequence]:
    """Yield what skipping, completing and resolving each of these `passable` nodes would do."""
    for node_id in nodes:
        yield _skip(situation, node_id)
        if situation.has_failed(node_id):
            yield from _manual(situation, node_id)


def passable(situation: Situation) -> list[str]:
    """Return the nodes that can be skipped: they have failed, or are due and do not run."""
    if situation.workflow.requested is Request.CANCEL:
        return []
    if situation.is_chain:
        present = situation.workflow.next_step_name
        is_known = present in situation.view.nodes and not situation.running
        return [present] if is_known and present is not None else []
    due = [key for key in situation.due if key not in situation.expansions]
    return [*situation.failed, *due]


def _after_skip(situation: Situation, node_id: str) -> Ahead:
    """Return what follows if a node is skipped; tasks for a rejection or a timeout do not."""
    taken = situation.branches_after_skip(node_id)
    return walk(situation, done=[node_id], chosen={} if taken is None else {node_id: taken})


def _skip(situation: Situation, node_id: str) -> Consequence:
    ahead = _after_skip(situation, node_id)
    name = situation.node(node_id).name
    others = [each for each in situation.failed if each != node_id]
    is_paused = situation.workflow.state is WorkflowState.PAUSED
    if is_paused and others and not situation.is_chain:
        stays = f"The workflow stays paused: {runs(situation, others, 'has', 'have')} failed too."
        sentence = f"Passes over {code(situation, node_id)}. {stays}"
        ahead = NOTHING
    else:
        declared = situation.declared(node_id)
        is_approval = declared is not None and declared.is_approval
        undecided = ", and its request is canceled" if is_approval else ""
        goes_on = f"Goes on without {code(situation, node_id)}{undecided}."
        sentence = f"{goes_on} {_onward(situation, ahead)}"
    return Consequence(
        command="skip",
        node=node_id,
        label=f"Skip {name}…",
        sentence=sentence,
        runs_next=ahead.next,
        runs_later=ahead.later,
        may_run=ahead.perhaps,
    )


def _onward(situation: Situation, ahead: Ahead) -> str:
    if ahead.next:
        return start(situation, ahead.next)
    if ahead.later:
        return f"{runs(situation, ahead.later[:1], 'still waits', '')} for other nodes."
    if ahead.blocked:
        return f"{runs(situation, ahead.blocked, 'still waits', 'still wait')} for failed nodes."
    return (
        "Other nodes go on."
        if len(situation.active) > 1
        else "Nothing follows: the workflow finishes."
    )


def _manual(situation: Situation, node_id: str) -> Iterator[Consequence]:
    declared, name = situation.declared(node_id), code(situation, node_id)
    ahead = _after_skip(situation, node_id)
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


def repairable(situation: Situation) -> list[str]:
    """Return the nodes that can be reattempted: they failed, and no node after them is done."""
    if situation.workflow.requested is Request.CANCEL or (situation.is_chain and situation.running):
        return []
    return situation.failed


def repairs(situation: Situation, nodes: Sequence[str]) -> Iterator[Consequence]:
    """Yield what reattempting and resetting each of these `repairable` nodes would do."""
    for node_id in nodes:
        # A document continues from its current step, whatever ran before.
        is_fixed = situation.document is None
        if is_fixed and any(map(situation.is_done, situation.graph.downstream(node_id))):
            continue
        ahead = walk(situation, again=[node_id])
        others = [each for each in situation.failed if each != node_id]
        again = f"Runs {code(situation, node_id)} again{_reattempts(situation, [node_id])}."
        rest = _rest(situation, [node_id], ahead)
        if others:
            failed = runs(situation, others, "has", "have")
            rest = f" Then the workflow pauses again: {failed} failed too."
        name = situation.node(node_id).name
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
