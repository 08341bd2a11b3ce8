from __future__ import annotations

from pathlib import Path
from typing import Any

import geneva_drive as gd
from benchmarks.workloads import backlog, event


class FakeSession:
    """Answers as a client would: events take twice as long as starts."""

    def ask(self, command: str, **arguments: Any) -> Any:
        assert command == "events"
        samples = range(1, arguments["samples"] + 1)
        return {
            "decided": [number / 1_000 for number in samples],
            "started": [number / 2_000 for number in samples],
        }


def test_events_and_starts_are_shown_by_their_percentiles_in_milliseconds() -> None:
    assert dict(event.latencies(FakeSession(), 100)) == {  # type: ignore[arg-type]
        "W9b.p50": 50.0,
        "W9b.p99": 99.0,
        "W9b.start_p50": 25.0,
        "W9b.start_p99": 49.5,
    }


def test_a_cloned_event_wait_is_released_by_its_own_key(tmp_path: Path) -> None:
    drive = gd.Drive(f"sqlite:///{tmp_path / 'bench.db'}")
    drive.migrate()

    backlog.stand_awaiting(f"sqlite:///{tmp_path / 'bench.db'}", 3)

    assert drive.publish("payment.received", key="3").continued == (3,)
    assert drive.publish("payment.received", key="17").continued == ()
    drive.close()
