"""The phrase of a node: what it does, in words that follow "The workflow will"."""

from __future__ import annotations

import re

from geneva_drive.definition.definition import Node
from geneva_drive.definition.nodes.declaration import NodeKind

_LONGEST = 120
# Endings of roles that name a person, such as "sales manager"; "finance" names a department.
_IS_PERSON = re.compile(
    r"(?:er|or|ist|ian|ant|(?<!m)ent|man|person|lead|head|chief|clerk|admin|boss|c[efto]o)$",
    re.IGNORECASE,
)
_END_OF_SENTENCE = re.compile(r"[.!?](?=\s+[A-Z]|$)|[;:]\s")  # not within "e.g. this"
# First words of summaries that are not commands, such as "The amount in cents".
_NO_VERBS = frozenset(
    [
        "a",
        "after",
        "all",
        "an",
        "and",
        "any",
        "as",
        "at",
        "before",
        "by",
        "called",
        "called",
        "each",
        "every",
        "for",
        "from",
        "he",
        "her",
        "his",
        "how",
        "if",
        "in",
        "is",
        "it",
        "its",
        "my",
        "no",
        "not",
        "of",
        "on",
        "one",
        "or",
        "our",
        "runs",
        "she",
        "step",
        "task",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "true",
        "used",
        "we",
        "what",
        "when",
        "where",
        "which",
        "while",
        "why",
        "with",
        "you",
        "your",
    ]
)


def phrase_of(node: Node) -> str:
    """Return a phrase for a node, from its docstring or else from its name."""
    body = node.job.function if node.job is not None else node.declared.function
    own = from_docstring(getattr(body, "__doc__", None))
    return own or _by_kind(node) or from_name(node.name)


def from_docstring(text: str | None) -> str | None:
    """Return the first sentence of a docstring, if it reads as a command; else None."""
    if not text or not text.strip():
        return None
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    sentence = _END_OF_SENTENCE.split(paragraph, maxsplit=1)[0].strip()
    first = sentence.split(" ")[0]
    if not _is_command(first) or len(sentence) > _LONGEST or not sentence.isprintable():
        return None
    return first.lower() + sentence[len(first) :]


def _is_command(word: str) -> bool:
    """True if a word may be a verb in the imperative: "Pay", but neither "Pays" nor "Paying"."""
    lower = word.lower()
    if not word.isalpha() or not word[1:].islower() or lower in _NO_VERBS:
        return False
    is_third_person = lower.endswith("s") and not lower.endswith(("ss", "us", "ias"))
    return not is_third_person and not lower.endswith(("ing", "ly"))


def from_name(name: str) -> str:
    """Return a name as words."""
    return " ".join(name.replace("_", " ").split()) or name


def member_of(role: str, which: str = "") -> str:
    """Return a person with a role: "a second sales manager", or "someone in finance"."""
    words = from_name(role)
    if _IS_PERSON.search(words):
        named = f"{which} {words}".strip()
        return f"{'an' if named[:1].lower() in 'aeiou' else 'a'} {named}"
    return f"a {which} person in {words}" if which else f"someone in {words}"


def members_of(role: str, count: int = 2) -> str:
    """Return persons with a role: "sales managers", or "people in finance"."""
    words, is_one = from_name(role), count == 1
    if _IS_PERSON.search(words):
        return words if is_one else f"{words}s"
    return f"{'person' if is_one else 'people'} in {words}"


def _by_kind(node: Node) -> str | None:
    """Return the phrase of a kind of node whose name is usually not a verb."""
    if node.kind is NodeKind.APPROVAL:
        return f"ask for {from_name(node.name)}"
    if node.kind is NodeKind.EVENT:
        joint = " and " if node.event_terms.is_all else " or "
        return f"wait for {joint.join(node.event_terms.patterns)}"
    if node.kind is NodeKind.CALLBACK:
        return f"wait for the callback of {from_name(node.name)}"
    if node.kind is NodeKind.CHILD and node.child is not None:
        return f"start {node.child.name}"
    return None
