"""Evaluate JMESPath within a budget."""

from __future__ import annotations

from typing import Any

from jmespath.visitor import TreeInterpreter  # type: ignore[import-untyped]

from geneva_drive.declarative.bounds.budget import Budget


class BoundedInterpreter(TreeInterpreter):  # type: ignore[misc]  # jmespath has no types
    """Charges every visited node, and the values that nodes create rather than find."""

    def __init__(self) -> None:
        super().__init__()
        self._budget = Budget()

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        self._budget.charge(1)
        return super().visit(node, *args, **kwargs)

    def visit_function_expression(self, node: Any, value: Any) -> Any:
        return self._charged(super().visit_function_expression(node, value))

    def visit_multi_select_list(self, node: Any, value: Any) -> Any:
        return self._charged(super().visit_multi_select_list(node, value))

    def visit_multi_select_dict(self, node: Any, value: Any) -> Any:
        return self._charged(super().visit_multi_select_dict(node, value))

    def visit_flatten(self, node: Any, value: Any) -> Any:
        found = super().visit_flatten(node, value)
        self._budget.charge(len(found or ()))
        return found

    def _charged(self, made: Any) -> Any:
        self._budget.charge_value(made)
        return made
