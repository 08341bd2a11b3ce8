"""The metaclass that compiles and registers each workflow class."""

from __future__ import annotations

import functools
import sys
from typing import Any

from geneva_drive.definition import registry
from geneva_drive.definition.compiler import code_location, compiler


class WorkflowMeta(type):
    """Compiles a class when Python creates it, so that faults are found on import."""

    @classmethod
    def __prepare__(  # type: ignore[override]  # a dict that refuses duplicates
        cls, name: str, bases: tuple[type, ...], **kwargs: Any
    ) -> compiler.ClassBody:
        return compiler.ClassBody(name)

    def __new__(
        metacls, name: str, bases: tuple[type, ...], body: dict[str, Any], **kwargs: Any
    ) -> WorkflowMeta:
        # Otherwise, a class created by calling type() would get this module as its __module__.
        home = sys._getframe(1).f_globals.get("__name__", "__main__")
        return super().__new__(metacls, name, bases, {"__module__": home, **body}, **kwargs)

    def __init__(
        cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **kwargs: Any
    ) -> None:
        super().__init__(name, bases, body, **kwargs)
        if any(isinstance(base, WorkflowMeta) for base in bases):
            with code_location.ending_at_caller:
                cls._compile(code_location.of_caller())

    def _compile(cls, where: str) -> None:
        root = next(base for base in reversed(cls.__mro__) if isinstance(base, WorkflowMeta))
        definition = compiler.compile_class(cls, root, reserved_names(root), where)  # type: ignore[arg-type]  # only Workflow has this metaclass
        cls._geneva_definition = definition
        for node in definition.nodes:
            # A plain method that overrides a step becomes a step, too, so that depends_on and
            # result_of accept it.
            if node.has_method and vars(cls).get(node.name) is node.function:
                setattr(cls, node.name, node.declared)
        registry.add(definition, where)


@functools.cache
def reserved_names(workflow_class: type) -> frozenset[str]:
    """Return the names of `gd.Workflow` that no step may take."""
    return frozenset(name for name in dir(workflow_class) if not name.startswith("_"))
