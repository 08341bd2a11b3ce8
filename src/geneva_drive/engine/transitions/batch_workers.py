"""Workers of a batch and items of a map: each is an execution with its part of the work."""

from __future__ import annotations

import json
from dataclasses import dataclass

from geneva_drive.definition.dynamic.stored_batch import worker_stem
from geneva_drive.storage.schema.expansion_record import expansion_of
from geneva_drive.storage.schema.records import WORKER_SHARE, ExecutionRecord

_NULL = "null"
# Special values of `BatchWorker.item`.
RECORDS = '"records"'  # the bounds are cursors of records
FIRST_ROWS = '"rows"'  # the range begins at the first row of a CSV file


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchWorker:
    """The work of one worker of an expansion.

    The values stay typed JSON, because some readers do not have the classes of these values.
    """

    expansion: str  # the node that all workers of the batch or map belong to
    number: int
    start: str = _NULL
    end: str = _NULL
    metadata: str = _NULL
    item: str = _NULL  # of a map; for a CSV file, where in the file the range's rows begin

    @property
    def label(self) -> str:
        """The number as people see it, such as 004."""
        return f"{self.number:03d}"

    @property
    def node_id(self) -> str:
        return worker_id(self.expansion, self.number)

    @property
    def size(self) -> int | None:
        """The number of items of an integer range; None for other ranges."""
        if self.item == RECORDS:
            return None
        start, end = json.loads(self.start), json.loads(self.end)
        if type(start) is int and type(end) is int:
            return end - start
        return None

    @property
    def has_numbers(self) -> bool:
        """True if its items are the numbers of its range, which need no call of its batch."""
        return self.item == _NULL and self.size is not None

    def dump(self) -> str:
        # The expansion comes first: `WORKER_SHARE` tells workers from partitions.
        return (
            f"{WORKER_SHARE}{json.dumps(self.expansion)},"
            f'"number":{self.number},"start":{self.start},"end":{self.end},'
            f'"metadata":{self.metadata},"item":{self.item}}}'
        )

    @classmethod
    def load(cls, share: str | None) -> BatchWorker | None:
        """Return the worker of a share; None for a partition or a whole step."""
        if share is None or not share.startswith(WORKER_SHARE):
            return None
        stored = json.loads(share)
        values = {name: json.dumps(stored[name]) for name in _VALUES}
        return cls(expansion=stored["expansion"], number=stored["number"], **values)

    @classmethod
    def of(cls, record: ExecutionRecord) -> BatchWorker:
        """Return the worker of an execution that is one."""
        worker = cls.load(record.share)
        assert worker is not None, f"{record.node_id} is not a batch worker"
        return worker


_VALUES = ("start", "end", "metadata", "item")


def graph_node_id(record: ExecutionRecord) -> str:
    """Return the batch or map that an execution is a worker of; else its own node."""
    return expansion_of(record.share) or record.node_id


def worker_id(expansion: str, number: int) -> str:
    return f"{worker_stem(expansion)}_{number:03d}"
