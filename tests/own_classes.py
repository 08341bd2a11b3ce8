"""Workflow classes of a test module, which the process knows only while its tests run.

Each look for work names all types that the process knows. The classes of all test modules together
are more than a hundred and fifty, which took a third of the time of each test.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from types import ModuleType

import pytest

from geneva_drive.definition import registry
from geneva_drive.definition.definition import Definition

_OWN = pytest.StashKey[list[Definition]]()
_SHARED: list[Definition] = []
"""Classes of modules that tests import. Two folders may use the same name for a class of theirs."""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Forget the classes that the import of a test module has defined, its own and shared ones."""
    if not isinstance(collector, pytest.Module):
        return (yield)
    before = set(registry.types())
    with registry.isolated():
        report = yield
        added = [each for each in registry.definitions() if each.type not in before]
    if report.passed:
        name = collector.obj.__name__
        collector.stash[_OWN] = [each for each in added if _home(each) == name]
        _SHARED.extend(each for each in added if _home(each) != name)
    return report


@pytest.fixture(autouse=True, scope="module")
def own_classes(request: pytest.FixtureRequest) -> Iterator[None]:
    module = request.module
    with registry.isolated():
        _add(each for each in _SHARED if _uses(module, _home(each)))
        _add(request.node.stash.get(_OWN, []))
        yield


def _uses(module: ModuleType, shared: str) -> bool:
    """True if a test module stands in the folder of a shared one, or imports something from it.

    A shared module of another package, such as the benchmarks, may be imported by any of its own.
    """
    if shared.rpartition(".")[0] == module.__name__.rpartition(".")[0]:
        return True
    imported = {_home_of(value) for value in vars(module).values()}
    package = shared.partition(".")[0]
    if package == "tests":
        return shared in imported
    return any(each.partition(".")[0] == package for each in imported)


def _home_of(value: object) -> str:
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return name if isinstance(name, str) else ""


def _home(definition: Definition) -> str:
    return definition.workflow_class.__module__


def _add(definitions: Iterable[Definition]) -> None:
    for each in definitions:
        registry.add(each, each.workflow_class.__qualname__)
