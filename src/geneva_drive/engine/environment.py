"""The environment of the engine: the store, settings, clock and subscribers of one Drive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from geneva_drive.clock import Clock
from geneva_drive.engine.checkpointer import Checkpointer
from geneva_drive.engine.documents.triggered_documents import TriggeredDocuments
from geneva_drive.engine.event_loop import LoopThread
from geneva_drive.engine.served_schedules import ServedSchedules
from geneva_drive.engine.wakeups import AwaitedEnds, Wakeups
from geneva_drive.settings import Settings
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.storage.store import Store
from geneva_drive.telemetry import Events


@dataclass(slots=True, kw_only=True)
class Environment:
    """Passed to all parts of the engine; only tests replace a field, which is the clock."""

    store: Store
    settings: Settings
    clock: Clock
    events: Events
    open_handle: Callable[[WorkflowRecord], Any]
    wakeups: Wakeups
    loop: LoopThread = field(default_factory=LoopThread)
    awaited_ends: AwaitedEnds = field(default_factory=AwaitedEnds)
    served_schedules: ServedSchedules = field(default_factory=ServedSchedules)
    triggered_documents: TriggeredDocuments = field(default_factory=TriggeredDocuments)
    checkpointer: Checkpointer = field(init=False)

    def __post_init__(self) -> None:
        self.checkpointer = Checkpointer(self.store.checkpoint_writer)
