"""The path ahead in a document: the steps that are certain, up to the first choice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from geneva_drive.declarative import routes
from geneva_drive.declarative.routes import (
    EndBranch,
    EndedStep,
    Ending,
    Fail,
    FinishWorkflow,
    GoTo,
    Route,
)
from geneva_drive.declarative.runtime.document_definition import DocumentDefinition


@dataclass(frozen=True, slots=True, kw_only=True)
class CertainPath:
    """The steps after an ended step, as far as the document determines them; failures aside."""

    steps: tuple[str, ...]  # in their order
    end: FinishWorkflow | EndBranch | Fail | None  # None: the last step chooses what follows
    perhaps: tuple[str, ...] = ()  # steps that may follow that choice


def routes_of(definition: DocumentDefinition, name: str) -> tuple[Route, ...]:
    """Return every route that may follow a step, failures aside."""
    step = definition.step(name)
    if step is None:
        return (GoTo(definition.document.steps[0].id),)
    found = (definition.route(name, EndedStep(one)) for one in routes.possible_endings(step))
    return tuple(dict.fromkeys(one for one in found if not isinstance(one, Fail)))


def way_after(
    definition: DocumentDefinition, name: str, ending: Ending | None = None
) -> CertainPath:
    """Return the path after a step with this ending; by default, after a skipped step."""
    if ending is None:
        following = definition.after(name)
        return way(
            definition,
            FinishWorkflow(routes.Result.EXECUTED) if following is None else GoTo(following.name),
        )
    return way(definition, definition.route(name, EndedStep(ending)))


def way(definition: DocumentDefinition, route: Route) -> CertainPath:
    """Return the path that a route begins."""
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
    """Yield a step and all steps that may follow it, each once."""
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
    """Return how a path ends, as the rest of a sentence about the workflow."""
    match end:
        case FinishWorkflow(result):
            return f"finishes, {result}"
        case EndBranch(passed):
            return "passes" if passed else "does not pass"
        case Fail():
            return "pauses until an operator resumes or skips it"
        case _:
            assert_never(end)
