"""What asks a process to end."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from geneva_drive.cli.processes.signals import stop_signals


@pytest.fixture
def hangups() -> Iterator[None]:
    former = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, former)


def test_a_closed_terminal_asks_for_the_end(hangups: None) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

    assert stop_signals() == [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


def test_beneath_nohup_a_closed_terminal_is_ignored(hangups: None) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    assert stop_signals() == [signal.SIGTERM, signal.SIGINT]
