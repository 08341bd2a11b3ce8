"""A node of a graph as the database stores it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.serialization import typed_json


class StoredArgs(Mapping[str, Any]):
    """A node's arguments as stored text, decoded on first access.

    A process can therefore read the graph without knowing the types of all arguments.
    """

    __slots__ = ("_values", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._values: dict[str, Any] | None = None

    def __getitem__(self, name: str) -> Any:
        return self._loaded()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded())

    def __len__(self) -> int:
        return len(self._loaded())

    def __repr__(self) -> str:
        return f"<stored args {self.text}>"

    def _loaded(self) -> dict[str, Any]:
        if self._values is None:
            self._values = typed_json.load(self.text)
        return self._values


NO_ARGS = StoredArgs("{}")


@dataclass(frozen=True, slots=True)
class StoredNode:
    """A node; other nodes refer to its id, people read its name."""

    id: str
    name: str
    job: str | None = None  # None for a node that calls no job
    args: Mapping[str, Any] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    keep_result: bool = False
    part: NodeKind | None = None  # of a batch: its worker or its aggregate
    checkpoint_interval: int | None = None  # of a batch's worker, in items

    @property
    def args_text(self) -> str:
        """The arguments as stored text."""
        args = self.args
        return args.text if isinstance(args, StoredArgs) else typed_json.dump(args)
