"""The library's own source, as a tree that tests can look through."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "geneva_drive"


def modules() -> Iterator[tuple[str, str]]:
    """The path below the package and the text of every module."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), path.read_text()


def calls() -> Iterator[tuple[str, ast.expr]]:
    """What is called in every function, with the place `folder/module.py:function`."""
    for path, text in modules():
        for place, call in _calls_within(ast.parse(text), "module"):
            yield f"{path}:{place}", call.func


def _calls_within(node: ast.AST, place: str) -> Iterator[tuple[str, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield place, child
        inner = child.name if isinstance(child, ast.FunctionDef) else place
        yield from _calls_within(child, inner)
