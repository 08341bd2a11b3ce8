"""The machine's uptime, moved by the test."""

from __future__ import annotations


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
