"""The edges of a document for diagrams: every step that may follow another step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from geneva_drive.declarative import routes
from geneva_drive.declarative.document import Document
from geneva_drive.declarative.routes import EndedStep, GoTo
from geneva_drive.declarative.runtime.document_definition import LOAD, DocumentDefinition
from geneva_drive.declarative.steps import ForeachStep, ParallelStep, Step
from geneva_drive.definition.compiler.graph import Graph


def flow_graph(definition: DocumentDefinition) -> Graph:
    """Return the steps of the list that a workflow runs, each with the steps before it."""
    names = [node.name for node in definition.nodes]
    return Graph.of(_parents(definition, names))


def whole_graph(definition: DocumentDefinition) -> Graph:
    """Return all steps; those inside `parallel` and `foreach` follow the step around them."""
    document = definition.document
    names = [*(name for name in (LOAD,) if definition.get(name)), *document.places]
    return Graph.of(_parents(definition, names))


def _parents(definition: DocumentDefinition, names: Iterable[str]) -> Mapping[str, list[str]]:
    document = definition.document
    parents: dict[str, list[str]] = {name: [] for name in names}
    for name in parents:
        targets = (
            [document.steps[0].id]
            if name == LOAD
            else [*_following(document, document.step(name)), *_inner(document.step(name))]
        )
        for target in targets:
            if target in parents:
                parents[target].append(name)
    return parents


def _following(document: Document, step: Step) -> Iterable[str]:
    for ending in routes.possible_endings(step):
        route = routes.route(document, step.id, EndedStep(ending))
        if isinstance(route, GoTo):
            yield route.step_id


def _inner(step: Step) -> Iterable[str]:
    if isinstance(step, ParallelStep):
        yield from routes.first_steps(step)
    elif isinstance(step, ForeachStep):
        yield step.steps[0].id
