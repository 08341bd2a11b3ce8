"""Answers that hold for a moment."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.web.dashboard.shell import answer_cache
from geneva_drive.web.dashboard.shell.answer_cache import BriefMemory


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which tests move."""
    moment = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: moment[0])
    return moment


@pytest.fixture
def drive() -> gd.Drive:
    return gd.Drive("sqlite:///never-opened.db")


def test_a_quick_answer_holds_for_half_a_second(now: list[float], drive: gd.Drive) -> None:
    memory: BriefMemory[int] = BriefMemory()
    answers = iter(range(10))

    def ask() -> int:
        return memory.get(drive, lambda: next(answers))

    found = [ask(), ask()]
    now[0] += 0.6

    assert [*found, ask()] == [0, 0, 1]


def test_a_page_does_not_wait_for_an_answer_that_took_long(
    now: list[float], drive: gd.Drive
) -> None:
    memory: BriefMemory[str] = BriefMemory()
    is_asked = threading.Event()

    def slow() -> str:
        now[0] += 1
        return "old"

    def later() -> str:
        is_asked.set()
        return "new"

    memory.get(drive, slow)
    now[0] += 20
    answer_cache.begin_page()
    shown = memory.get(drive, later)

    assert (shown, answer_cache.was_old()) == ("old", True)
    assert is_asked.wait(10)


def test_a_command_is_seen_at_once(now: list[float], drive: gd.Drive) -> None:
    memory: BriefMemory[int] = BriefMemory()
    answers = iter(range(10))
    memory.get(drive, lambda: next(answers))

    answer_cache.forget(drive)

    assert memory.get(drive, lambda: next(answers)) == 1


def test_viewers_who_come_together_ask_once(drive: gd.Drive) -> None:
    memory: BriefMemory[int] = BriefMemory()
    asked: list[int] = []
    everyone = threading.Barrier(8)

    def ask() -> int:
        asked.append(1)
        return 7

    def view() -> None:
        everyone.wait(10)
        memory.get(drive, ask)

    threads: list[Any] = [threading.Thread(target=view) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(10)

    assert asked == [1]
