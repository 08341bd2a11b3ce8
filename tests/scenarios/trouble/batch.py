"""A batch of the load: some workflows of each kind, and what is expected of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from types import ModuleType

from sqlalchemy.orm import Session

import geneva_drive as gd
from tests.scenarios.trouble.ledger import Body

STEPS = range(1, 7)
ITEMS = 12
NAME = "Ada"
_ITEMS = tuple(f"item_{number}" for number in range(ITEMS))

# The bodies and items of a workflow of each kind, in whatever order.
BODIES = {
    "Reading": tuple(f"reads_{number}" for number in STEPS),
    "Conditional": tuple(f"kept_{number}" for number in STEPS),
    "Calculation": tuple(f"sums_{number}" for number in STEPS),
    "Family": ("book", "send", "close"),
    "Counting": _ITEMS,
    "Walking": tuple(f"record_{number + 1}" for number in range(ITEMS)),
    "Booking": _ITEMS,
    "Limited": (*(f"presses_{number}" for number in STEPS), "paint"),
    "Async": ("write", *(f"letter_{number}" for number in range(ITEMS))),
    "Spread": (*(f"visit_{number}" for number in range(6)), "settle"),
}
CHILDREN = ("booked", "sent", "awaited")  # of each Family; the only body of each is "run"
EFFECTS = {"Family": ("book",), "Booking": _ITEMS, "Spread": ("settle",)}
_WITH_HERO = ("Reading", "Conditional", "Family", "Async")


def prepare(drive: gd.Drive, application: ModuleType) -> None:
    """Create the users' tables, and the records that loops walk over."""
    application.Base.metadata.create_all(drive.engine)
    with Session(drive.engine) as session:
        session.add_all(application.Record(id=number + 1) for number in range(ITEMS))
        session.commit()


def create(drive: gd.Drive, application: ModuleType, number: int, size: int) -> list[str]:
    """Create `size` workflows of each kind; return their keys."""
    keys = []
    for place in range(size):
        guest = _save_guest(drive, application)
        for kind in BODIES:
            key = f"{kind}-{number}-{place}"
            keys.append(key)
            if kind == "Spread":
                application.spread(drive, key)
            else:
                hero = guest if kind in _WITH_HERO else None
                workflow_class = getattr(application, kind).using(drive)
                workflow_class.create(hero=hero, context={"key": key})
    return keys


def _save_guest(drive: gd.Drive, application: ModuleType) -> object:
    with Session(drive.engine, expire_on_commit=False) as session:
        guest: object = application.Guest(name=NAME)
        session.add(guest)
        session.commit()
        return guest


def kind_of(key: str) -> str:
    return "Errand" if "/" in key else key.split("-")[0]


def expected_workflows(keys: Iterable[str]) -> set[str]:
    """Return the keys of all workflows, those of children among them."""
    keys = list(keys)
    families = [key for key in keys if kind_of(key) == "Family"]
    return {*keys, *(f"{family}/{child}" for family in families for child in CHILDREN)}


def expected_bodies(keys: Iterable[str]) -> set[Body]:
    return {
        (key, body)
        for key in expected_workflows(keys)
        for body in BODIES.get(kind_of(key), ("run",))
    }


def expected_effects(keys: Iterable[str]) -> Counter[Body]:
    return Counter((key, body) for key in keys for body in EFFECTS.get(kind_of(key), ()))


def is_transactional(body: Body) -> bool:
    key, name = body
    return name in EFFECTS.get(kind_of(key), ())


def ends_with_a_checkpoint(body: Body) -> bool:
    """True if a checkpoint follows which belongs to the run, and which no body can note."""
    return body[1].startswith(("item_", "record_", "letter_"))
