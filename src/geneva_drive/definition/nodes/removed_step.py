"""Removed steps: placeholders for deleted steps."""

from __future__ import annotations

from geneva_drive.definition.compiler import code_location, dependencies
from geneva_drive.definition.compiler.dependencies import TaskDependencies
from geneva_drive.definition.nodes.declaration import DeclaredNode, NodeKind
from geneva_drive.definition.options.options import Options


class RemovedStep(DeclaredNode):
    """The placeholder of a deleted node, for workflows that are at this node."""

    def __init__(self, where: str, opts: Options, *, is_in_chain: bool) -> None:
        super().__init__(NodeKind.REMOVED, "", opts, where)
        self.is_in_chain = is_in_chain

    def __repr__(self) -> str:
        return f"<removed step at {self.where}>"


def removed_step(*, depends_on: TaskDependencies = None) -> RemovedStep:
    """Keep the place of a deleted step, so that workflows that are at this step move on.

    For a deleted task, pass its `depends_on`: its dependants then wait for those nodes.

    >>> import geneva_drive as gd
    >>> class Checkout(gd.Workflow):
    ...     @gd.step
    ...     def reserve(self): ...
    ...     call_courier = gd.removed_step()
    ...     @gd.step
    ...     def ship(self): ...
    """
    where = code_location.of_caller()
    if depends_on is None:
        return RemovedStep(where, Options(), is_in_chain=True)
    with code_location.ending_at_caller, code_location.naming("A removed task", where):
        parents = dependencies.parse({"depends_on": depends_on}, NodeKind.TASK)
    return RemovedStep(where, Options(depends_on=parents), is_in_chain=False)
