"""What follows the decisions and deadlines of a document's step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geneva_drive.drive.consequences.sentence_parts import MOST_NAMED, count_of
from geneva_drive.drive.consequences.walk import Ahead
from geneva_drive.drive.consequences.what_if_facts import Situation

if TYPE_CHECKING:
    from geneva_drive.declarative.routes import Ending
    from geneva_drive.declarative.runtime.certain_path import CertainPath
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition

Effect = tuple[Ahead, tuple[str, ...], str]


def effect(
    situation: Situation,
    document: DocumentDefinition,
    node_id: str,
    *,
    is_rejection: bool,
    is_expired: bool,
) -> Effect:
    """Return what follows a decision, what never runs, and the sentence for people."""
    from geneva_drive.declarative.routes import Ending

    decided = Ending.REJECTED if is_rejection else Ending.APPROVED
    return ended(situation, document, node_id, Ending.EXPIRED if is_expired else decided)


def heard(
    situation: Situation, document: DocumentDefinition, node_id: str, *, timed_out: bool
) -> Effect:
    """Return the same for a wait whose event arrived or timed out."""
    from geneva_drive.declarative.routes import Ending

    return ended(situation, document, node_id, Ending.TIMED_OUT if timed_out else Ending.EXECUTED)


def ended(
    situation: Situation, document: DocumentDefinition, node_id: str, ending: Ending
) -> Effect:
    """Return the same for a step that ended this way."""
    from geneva_drive.declarative.runtime import certain_path

    way = certain_path.way_after(document, node_id, ending)
    ahead = Ahead(
        next=way.steps[:1], later=way.steps[1:], perhaps=way.perhaps, passed_over=(), blocked=()
    )
    met = {*way.steps, *way.perhaps}
    never = tuple(each for each in situation.never_started() if each not in met and each != node_id)
    return ahead, never, _sentence(document, way)


def _sentence(document: DocumentDefinition, way: CertainPath) -> str:
    from geneva_drive.declarative.runtime.certain_path import end_words

    subject = "The workflow" if document.branch_of is None else "This branch"
    names = [_name(document, each) for each in way.steps[:MOST_NAMED]]
    rest = len(way.steps) - MOST_NAMED
    if rest > 0:
        names.append(count_of(rest, "more step"))
    goes_on = f"goes on with {', then '.join(names)}" if names else ""
    if way.end is None:
        return f"{subject} {goes_on}. Then the document decides what follows."
    return f"{subject} {', and '.join(filter(None, [goes_on, end_words(way.end)]))}."


def _name(document: DocumentDefinition, node_id: str) -> str:
    step = document.step(node_id)
    return f"'{(step.name if step else None) or node_id}'"
