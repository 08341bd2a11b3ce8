"""What a worker has in its hands, as other threads see it."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Iterator

import pytest

from geneva_drive.worker.flights import Flights
from tests.worker.claims import make_claimed

_LOOKS = 20_000


@pytest.fixture
def restless_threads() -> Iterator[None]:
    """Have threads take turns at every chance."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("restless_threads")
def test_a_chain_that_moves_on_is_never_seen_as_nothing() -> None:
    flights = Flights()
    looked = threading.Event()

    def move_on() -> None:
        [flight] = flights.add([make_claimed(execution_id=0)])
        for following in itertools.count(1):
            if looked.is_set():
                return
            [flight] = flights.replace([(flight, make_claimed(execution_id=following))])

    chain = threading.Thread(target=move_on)
    chain.start()
    while not flights:
        pass
    seen = {len(flights) for _ in range(_LOOKS)}
    looked.set()
    chain.join()

    assert seen == {1}


def test_what_was_claimed_anew_while_its_former_flight_lands_stays() -> None:
    flights = Flights()
    [former] = flights.add([make_claimed()])
    [now] = flights.add([make_claimed()])

    flights.replace([(former, None)])

    assert flights.all() == [now]
