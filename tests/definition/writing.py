"""Workflow classes as a user's file would have them, so that errors name a known place."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.workflow import definition_of
from geneva_drive.errors import StepConfigurationError


def run_file(text: str, module: str = "signup") -> dict[str, Any]:
    """Run a user's file, which need not import the library; give what it defines."""
    names: dict[str, Any] = {"gd": gd, "__name__": module}
    exec(compile(dedent(text).lstrip("\n"), f"{module}.py", "exec"), names)
    return names


def refusal(text: str) -> str:
    """Run a file that the library refuses; give the error's words."""
    with pytest.raises(StepConfigurationError) as caught:
        run_file(text)
    return str(caught.value)


def steps(workflow_class: type[gd.Workflow[Any]]) -> list[str]:
    """The names of all places of the chain, removed steps included."""
    return [node.name for node in definition_of(workflow_class).nodes]


def options(workflow_class: type[gd.Workflow[Any]], step: str) -> Any:
    """The options of a step in their normal form."""
    return definition_of(workflow_class).require(step).options


def edges(workflow_class: type[gd.Workflow[Any]]) -> dict[str, list[str]]:
    """What each live node of a class waits for, as its compiled graph says it."""
    nodes = workflow_class.compiled_dag()["nodes"]
    return {name: node["depends_on"] for name, node in nodes.items()}
