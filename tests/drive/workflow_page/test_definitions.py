"""The types of workflows that this process or a running worker knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import geneva_drive as gd
from geneva_drive.drive.definitions.known_types import DefinedNode


@dataclass
class OrderContext:
    total: int
    customer: str = "unknown"


class KnownOrder(gd.Workflow[Any, OrderContext]):
    """An order of the shop.

    More about it.
    """

    @gd.step
    def charge(self) -> None:
        """Charge the card."""

    @gd.step
    def ship_it(self) -> None: ...


def test_a_class_is_described_with_its_nodes_and_ongoing_workflows(geneva: gd.Drive) -> None:
    KnownOrder.create(context={"total": 3})
    KnownOrder.create(context={"total": 4}).pause()
    KnownOrder.create(context={"total": 5}).cancel()
    with geneva.worker(queues=["nothing"]):
        [found] = [one for one in geneva.known_types() if one.type == "KnownOrder"]

    assert (found.is_imported, found.is_served, found.versions) == (True, True, 1)
    assert (found.description, found.queue) == ("An order of the shop.", "default")
    assert str(found.ongoing) == "2"
    assert found.nodes == (
        DefinedNode(name="charge", kind="step", phrase="charge the card", depends_on=()),
        DefinedNode(name="ship_it", kind="step", phrase="ship it", depends_on=("charge",)),
    )


def test_a_start_form_is_made_from_the_schema_of_the_context(geneva: gd.Drive) -> None:
    schema = geneva.context_schema("KnownOrder")

    assert (schema["required"], list(schema["properties"])) == (["total"], ["total", "customer"])
