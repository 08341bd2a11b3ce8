"""A worker runs no more steps of a queue at once than it was told."""

from __future__ import annotations

import threading

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidInput
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.identity import Identity
from tests.worker.watching import Watch, rows_of, wait, wait_until


class Highest:
    """How many bodies are in it at once, and how many at most."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = self.most = 0

    def __enter__(self) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._now -= 1


def test_no_more_of_a_capped_queue_run_at_once(geneva: gd.Drive, watch: Watch) -> None:
    mails, pair = Highest(), threading.Barrier(2)

    class Mail(gd.Workflow):
        queue = "mail"

        @gd.step
        def send(self) -> None:
            with mails:
                pair.wait(20)

        @gd.step
        def note(self) -> None:
            with mails:
                pair.wait(20)

    for _ in range(6):
        Mail.create()
    with geneva.worker(queues={"mail": 2, "default": None}, concurrency=6):
        watch.wait_for_workflows(6)

    assert mails.most == 2


def test_a_capped_queue_leaves_threads_to_the_others(geneva: gd.Drive, watch: Watch) -> None:
    release = threading.Event()

    class Mail(gd.Workflow):
        queue = "mail"

        @gd.step
        def send(self) -> None:
            wait(release)

    class Order(gd.Workflow):
        @gd.step
        def ship(self) -> None: ...

    for _ in range(5):
        Mail.create()
    order = Order.create()
    with geneva.worker(queues={"mail": 1, "default": None}, concurrency=2):
        wait_until(lambda: order.reload().state == "finished", "the order is shipped")
        mails_sent_before = Mail.finished().count()
        release.set()
        watch.wait_for_workflows(6)

    assert mails_sent_before == 0


def test_what_is_more_urgent_goes_before_a_capped_queue_with_room(geneva: gd.Drive) -> None:
    class Mail(gd.Workflow):
        queue = "mail"

        @gd.step
        def send(self) -> None: ...

    class Alarm(gd.Workflow):
        priority = 10

        @gd.step
        def ring(self) -> None: ...

    for _ in range(3):
        Mail.create()
    Alarm.create()
    Alarm.create()
    identity = Identity(queues=frozenset({"mail", "default"}), caps={"mail": 2})

    claimed = claim_due(geneva.environment, identity, 3, rooms={"mail": 2})

    assert [one.execution.step_name for one in claimed] == ["ring", "ring", "send"]


def test_no_more_are_claimed_than_there_is_room_for(geneva: gd.Drive) -> None:
    class Mail(gd.Workflow):
        queue = "mail"

        @gd.step
        def send(self) -> None: ...

    for _ in range(5):
        Mail.create()
    identity = Identity(queues=frozenset({"mail"}), caps={"mail": 2})

    claims = [
        len(claim_due(geneva.environment, identity, 9, rooms={"mail": room})) for room in (2, 0, 9)
    ]

    assert claims == [2, 0, 3]


def test_a_step_on_a_capped_queue_is_claimed_and_not_taken_along(
    geneva: gd.Drive, watch: Watch
) -> None:
    class Order(gd.Workflow):
        @gd.step
        def reserve(self) -> None: ...

        @gd.step(queue="mail")
        def confirm(self) -> None: ...

    order = Order.create()

    geneva.worker(queues={"mail": 1, "default": None}).run_until_idle()

    apart = [e.step_name for e in watch.steps("in_progress") if e.from_state == "scheduled"]
    assert apart == ["reserve", "confirm"]
    assert rows_of(order) == [
        ("reserve", "completed", "success"),
        ("confirm", "completed", "success"),
    ]


@pytest.mark.parametrize(
    ("cap", "words"),
    [
        (0, "must be at least 1, got 0."),
        (-1, "must be at least 1, got -1."),
        (True, "must be a whole number, got True."),
        ("2", "must be a whole number, got '2'."),
    ],
)
def test_a_cap_is_a_whole_number_from_one_up(geneva: gd.Drive, cap: object, words: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        geneva.worker(queues={"mail": cap})

    assert str(refusal.value) == f"Queue 'mail': the limit {words}"
