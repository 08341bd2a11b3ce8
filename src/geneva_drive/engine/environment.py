"""What the engine works with: one Drive's store, settings, clock and listeners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from geneva_drive.clock import Clock
from geneva_drive.engine.checkpointer import Checkpointer
from geneva_drive.engine.event_loop import LoopThread
from geneva_drive.engine.wakeups import Wakeups
from geneva_drive.settings import Settings
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.storage.store import Store
from geneva_drive.telemetry import Events


@dataclass(slots=True, kw_only=True)
class Environment:
    """Passed to whatever runs; the clock alone may be exchanged, by tests."""

    store: Store
    settings: Settings
    clock: Clock
    events: Events
    open_handle: Callable[[WorkflowRecord], Any]
    wakeups: Wakeups
    loop: LoopThread = field(default_factory=LoopThread)
    checkpointer: Checkpointer = field(init=False)

    def __post_init__(self) -> None:
        self.checkpointer = Checkpointer(self.store.checkpoint_writer)
