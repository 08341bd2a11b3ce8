"""The words of consequences: lists of nodes, and what follows."""

from __future__ import annotations

from collections.abc import Sequence

from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.consequences.walk import Ahead
from geneva_drive.drive.consequences.what_if_facts import Situation
from geneva_drive.durations import describe

MOST_NAMED = 3
_LONGEST_NAME = 60


def code(situation: Situation, node_id: str) -> str:
    """Return the name of a node as code, on one line and not too long."""
    name = " ".join(situation.node(node_id).name.replace("`", "'").split())
    return f"`{name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + '...'}`"


def listed(items: Sequence[str]) -> str:
    """Join items with commas, and the last with "and" unless an item contains one."""
    if len(items) <= 1:
        return "".join(items)
    joint = ", " if " and " in items[-1] else " and "
    return f"{', '.join(items[:-1])}{joint}{items[-1]}"


def count_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def named(situation: Situation, nodes: Sequence[str], most: int = MOST_NAMED) -> str:
    """Name the first few nodes and count the others."""
    if len(nodes) <= most:
        return listed([code(situation, each) for each in nodes])
    shown = [code(situation, each) for each in nodes[:most]]
    return f"{', '.join(shown)} and {count_of(len(nodes) - most, 'more node')}"


def runs(situation: Situation, nodes: Sequence[str], verb: str = "runs", verbs: str = "run") -> str:
    """Return a clause about nodes, such as "`a` and `b` never run"."""
    return f"{named(situation, nodes)} {verb if len(nodes) == 1 else verbs}"


def then(situation: Situation, ahead: Ahead) -> str:
    """Return the sentence about what follows, with a space before it; empty if nothing does."""
    nodes = [*ahead.next, *ahead.later]
    if not nodes:
        return ""
    items = [_following(situation, each) for each in nodes[:MOST_NAMED]]
    rest = nodes[MOST_NAMED:]
    if rest:
        choices = " and what they choose" if any(_opens(situation, each) for each in rest) else ""
        items.append(f"{count_of(len(rest), 'more node')}{choices}")
    return f" Then {listed(items)}."


def choice_after(situation: Situation, nodes: Sequence[str]) -> str:
    """Return a sentence about nodes that run now and choose what follows; empty without any."""
    choosing = [each for each in nodes if _opens(situation, each)]
    if not choosing:
        return ""
    if situation.document is not None and _is_plain(situation, choosing[0]):
        return " Then the document decides what follows."
    return f" Then {_outcome_words(situation, choosing[0])}."


def _following(situation: Situation, node_id: str) -> str:
    perhaps = "perhaps " if situation.is_conditional(node_id) else ""
    opened = f" and {_outcome_words(situation, node_id)}" if _opens(situation, node_id) else ""
    return f"{perhaps}{code(situation, node_id)}{opened}"


def _opens(situation: Situation, node_id: str) -> bool:
    """True if a node still has to choose what follows it."""
    has_followers = bool(situation.graph.dependants[node_id])
    return has_followers and (situation.chooses(node_id) or situation.may_end(node_id))


def _outcome_words(situation: Situation, node_id: str) -> str:
    kind = situation.node(node_id).kind
    if kind is NodeKind.DECISION:
        return "what it chooses"
    if situation.document is not None and _is_plain(situation, node_id):
        return "what follows from it"
    return "what is decided" if kind is NodeKind.APPROVAL else "what follows its event"


def _is_plain(situation: Situation, node_id: str) -> bool:
    """True if a step waits for neither a person nor an event."""
    return situation.node(node_id).kind not in (NodeKind.APPROVAL, NodeKind.EVENT)


def start(situation: Situation, nodes: Sequence[str]) -> str:
    """Return a sentence about when nodes that become due will start."""
    waits = {situation.wait_before(each) for each in nodes}
    longest = max(waits)
    one = len(nodes) == 1
    if one and situation.is_conditional(nodes[0]):
        return f"{code(situation, nodes[0])} is next, unless its condition skips it."
    if one and situation.node(nodes[0]).kind is NodeKind.APPROVAL:
        return f"{code(situation, nodes[0])} asks for a decision."
    if longest and len(waits) == 1:
        return f"{runs(situation, nodes)} in {describe(longest)}."
    return f"{runs(situation, nodes, 'starts', 'start')} {'next' if longest else 'at once'}."


def phrases(situation: Situation, ahead: Ahead, most: int = MOST_NAMED) -> list[str]:
    """Return what nodes will do, in words for people who do not read code."""
    nodes = [*ahead.next, *ahead.later]
    found = []
    for node_id in nodes[:most]:
        perhaps = "perhaps " if situation.is_conditional(node_id) else ""
        opened = " and continue accordingly" if _opens(situation, node_id) else ""
        found.append(f"{perhaps}{situation.phrase(node_id)}{opened}")
    if len(nodes) > most:
        found.append(f"do {count_of(len(nodes) - most, 'more step')}")
    return found


def will(situation: Situation, ahead: Ahead, subject: str = "The workflow") -> str:
    """Return "The workflow will do this, then that."."""
    found = phrases(situation, ahead)
    if not found:
        if ahead.blocked or situation.failed:
            return f"{subject} stays as it is: another step has failed."
        return (
            f"{subject} goes on with what is active."
            if len(situation.active) > 1
            else f"{subject} will finish."
        )
    return f"{subject} will {', then '.join(found)}."
