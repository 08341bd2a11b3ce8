"""Workflow classes of a test module, which the process knows only while its tests run.

Each look for work names all types that the process knows. The classes of all test modules together
are more than a hundred and fifty, which took a third of the time of each test.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

import pytest

from geneva_drive.definition import registry
from geneva_drive.definition.definition import Definition

_OWN = pytest.StashKey[list[Definition]]()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Forget the classes that the import of a test module has defined; keep those of others."""
    if not isinstance(collector, pytest.Module):
        return (yield)
    before = set(registry.types())
    with registry.isolated():
        report = yield
        added = [each for each in registry.definitions() if each.type not in before]
    if report.passed:
        name = collector.obj.__name__
        collector.stash[_OWN] = [each for each in added if each.workflow_class.__module__ == name]
        _add(each for each in added if each.workflow_class.__module__ != name)
    return report


@pytest.fixture(autouse=True, scope="module")
def own_classes(request: pytest.FixtureRequest) -> Iterator[None]:
    with registry.isolated():
        _add(request.node.stash.get(_OWN, []))
        yield


def _add(definitions: Iterable[Definition]) -> None:
    for each in definitions:
        registry.add(each, each.workflow_class.__qualname__)
