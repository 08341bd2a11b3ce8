"""The way ahead of a document: the steps that are certain, and where its choices begin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from geneva_drive.declarative import routes
from geneva_drive.declarative.routes import (
    EndBranch,
    Ended,
    Ending,
    Fail,
    FinishWorkflow,
    GoTo,
    Route,
)
from geneva_drive.declarative.runtime.document_definition import DocumentDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class CertainPath:
    """What follows a step that ended, as far as the document fixes it; failures aside."""

    steps: tuple[str, ...]  # that follow each other
    end: FinishWorkflow | EndBranch | Fail | None  # None: the last of them decides what follows
    perhaps: tuple[str, ...] = ()  # behind that choice


def routes_of(definition: DocumentDefinition, name: str) -> tuple[Route, ...]:
    """Return every way on from a step, failures aside."""
    step = definition.step(name)
    if step is None:
        return (GoTo(definition.document.steps[0].id),)
    found = (definition.route(name, Ended(one)) for one in routes.possible_endings(step))
    return tuple(dict.fromkeys(one for one in found if not isinstance(one, Fail)))


def way_after(
    definition: DocumentDefinition, name: str, ending: Ending | None = None
) -> CertainPath:
    """Return the way behind a step that ended so; by default, behind one that is passed over."""
    if ending is None:
        following = definition.after(name)
        return way(
            definition,
            FinishWorkflow(routes.Result.EXECUTED) if following is None else GoTo(following.name),
        )
    return way(definition, definition.route(name, Ended(ending)))


def way(definition: DocumentDefinition, route: Route) -> CertainPath:
    """Return the way on from a route."""
    steps: list[str] = []
    while isinstance(route, GoTo):
        steps.append(route.step_id)
        ahead = routes_of(definition, route.step_id)
        if len(ahead) > 1:
            perhaps = tuple(reachable(definition, route.step_id))[1:]
            return CertainPath(steps=tuple(steps), end=None, perhaps=perhaps)
        [route] = ahead
    return CertainPath(steps=tuple(steps), end=route)


def reachable(definition: DocumentDefinition, name: str) -> Iterator[str]:
    """Yield a step and all that may follow it, each once."""
    seen = {name: None}
    ahead = [name]
    while ahead:
        present = ahead.pop(0)
        yield present
        for route in routes_of(definition, present):
            if isinstance(route, GoTo) and route.step_id not in seen:
                seen[route.step_id] = None
                ahead.append(route.step_id)


def end_words(end: FinishWorkflow | EndBranch | Fail) -> str:
    """Return how a way ends, as the rest of a sentence about the workflow."""
    match end:
        case FinishWorkflow(result):
            return f"finishes, {result}"
        case EndBranch(passed):
            return "passes" if passed else "does not pass"
        case Fail():
            return "pauses until an operator resumes or skips it"
        case _:
            assert_never(end)
