"""Lanes take turns: no class, and no queue, keeps another waiting by being many."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import ANY

import pytest

import geneva_drive as gd
from geneva_drive.storage.dialects.claim_request import ClaimRequest, Taken
from geneva_drive.storage.schema.records import UNREAD
from tests.storage.rows import NOW, Rows


def claim(
    drive: gd.Drive,
    *types: str,
    limit: int,
    queues: Sequence[str] | None = None,
    token: str = "t",
    named: Any = None,
) -> Sequence[Taken]:
    store = drive.store
    rooms = None if queues is None else dict.fromkeys(queues, limit)
    wish = ClaimRequest(
        worker_id="w",
        claim_token=token,
        types=types,
        queues=rooms,
        limit=limit,
        now=NOW,
        named=named,
    )
    return store.write_at_once(
        lambda connection: store.database.dialect.claim(connection, store.tables, wish)
    )


def ids(taken: Sequence[Taken]) -> list[Any]:
    return [execution.id for execution, _ in taken]


def test_two_classes_take_turns_and_within_a_class_the_oldest_comes_first(
    geneva: gd.Drive, rows: Rows
) -> None:
    mails = [rows.due(type="Mail") for _ in range(6)]
    bills = [rows.due(type="Bill") for _ in range(6)]

    claims = [ids(claim(geneva, "Bill", "Mail", limit=4)) for _ in range(3)]

    assert claims == [
        [mails[0], bills[0], mails[1], bills[1]],
        [mails[2], bills[2], mails[3], bills[3]],
        [mails[4], bills[4], mails[5], bills[5]],
    ]


def test_a_class_with_nothing_due_leaves_its_turns_to_others(geneva: gd.Drive, rows: Rows) -> None:
    mails = [rows.due(type="Mail") for _ in range(4)]
    bill = rows.due(type="Bill")

    claimed = claim(geneva, "Bill", "Idle", "Mail", limit=9)

    assert ids(claimed) == [mails[0], bill, *mails[1:]]


def test_what_is_urgent_comes_before_anybodys_turn(geneva: gd.Drive, rows: Rows) -> None:
    calm = [rows.due(type="Bill"), rows.due(type="Bill")]
    urgent = [rows.due(type="Mail", priority=5) for _ in range(3)]
    usual = rows.due(type="Mail")

    claimed = claim(geneva, "Bill", "Mail", limit=9)

    assert ids(claimed) == [*urgent, *calm, usual]


def test_the_queues_that_a_worker_serves_take_turns(geneva: gd.Drive, rows: Rows) -> None:
    slow = [rows.due(queue="slow") for _ in range(4)]
    fast = [rows.due(queue="fast") for _ in range(4)]
    rows.due(queue="elsewhere")

    claims = [ids(claim(geneva, "Signup", queues=["fast", "slow"], limit=4)) for _ in range(3)]

    assert claims == [
        [slow[0], fast[0], slow[1], fast[1]],
        [slow[2], fast[2], slow[3], fast[3]],
        [],
    ]


def test_for_a_worker_of_all_queues_a_class_is_one_lane(geneva: gd.Drive, rows: Rows) -> None:
    made = [rows.due(queue=queue) for queue in ("slow", "slow", "fast", "fast")]

    claimed = claim(geneva, "Signup", limit=3)

    assert ids(claimed) == made[:3]


def test_a_claim_gives_executions_and_workflows_as_they_are_stored(
    geneva: gd.Drive, rows: Rows
) -> None:
    workflow_id = rows.workflow(context='{"n": 1}', hero_type="Pilot", hero_id="ada")
    rows.execution(workflow_id, claimable=True, failures='{"p": 2}', recoveries=1)

    [(execution, workflow)] = claim(geneva, "Signup", limit=1)

    store = geneva.store
    with store.reading() as connection:
        assert execution == store.executions.get(connection, execution.id)
        stored = store.workflows.get(connection, workflow_id)
    assert stored is not None
    assert workflow == stored._replace(started_by=UNREAD)  # which no step needs
    assert (execution.workflow_id, workflow.hero_id) == (workflow_id, "ada")


def test_one_that_is_named_is_claimed_before_older_ones(geneva: gd.Drive, rows: Rows) -> None:
    made = [rows.due() for _ in range(3)]

    assert ids(claim(geneva, "Signup", limit=1, named=made[2])) == [made[2]]
    assert ids(claim(geneva, "Signup", limit=1, named=made[2])) == []
    assert ids(claim(geneva, "Signup", limit=3)) == made[:2]


def test_one_that_is_named_is_left_to_who_serves_it(geneva: gd.Drive, rows: Rows) -> None:
    mail = rows.due(type="Mail", queue="slow")

    assert ids(claim(geneva, "Bill", limit=1, named=mail)) == []
    assert ids(claim(geneva, "Mail", queues=["fast"], limit=1, named=mail)) == []
    assert ids(claim(geneva, "Mail", queues=["slow"], limit=1, named=mail)) == [mail]


def test_what_came_last_into_a_lane_is_listed_with_its_workflow(
    geneva: gd.Drive, rows: Rows
) -> None:
    workflow_id = rows.workflow()
    slow, fast = (
        rows.execution(workflow_id, claimable=True, queue=queue, node_id=queue, slot=queue)
        for queue in ("slow", "fast")
    )
    rows.due(type="Mail")
    urgent = rows.due(priority=3)
    store = geneva.store

    with store.reading() as connection:
        everywhere = store.executions.newest_due(connection, "Signup", None, 0, 9)
        last = store.executions.newest_due(connection, "Signup", None, 0, 1)
        on_slow = store.executions.newest_due(connection, "Signup", "slow", 0, 9)

    assert everywhere == [(fast, workflow_id), (slow, workflow_id), (urgent, ANY)]
    assert last == [(fast, workflow_id)]
    assert on_slow == [(slow, workflow_id)]


def test_a_worker_that_serves_nothing_claims_nothing(geneva: gd.Drive, rows: Rows) -> None:
    rows.due()

    assert claim(geneva, limit=5) == []
    assert claim(geneva, "Signup", queues=[], limit=5) == []


@pytest.mark.databases("postgresql", "mysql")
def test_what_another_is_taking_right_now_is_passed_over(geneva: gd.Drive, rows: Rows) -> None:
    made = [rows.due(type=name) for _ in range(4) for name in ("Mail", "Bill")]
    wish = ClaimRequest(
        worker_id="v", claim_token="u", types=["Bill", "Mail"], queues=None, limit=3, now=NOW
    )

    with geneva.engine.begin() as other:
        first = geneva.store.database.dialect.claim(other, geneva.store.tables, wish)
        second = claim(geneva, "Bill", "Mail", limit=3)

    assert ids(first) == made[:3]
    assert sorted(ids(second)) == sorted([made[3], made[4], made[5]])


def test_two_who_claim_at_the_same_moment_both_get_their_share(
    geneva: gd.Drive, rows: Rows
) -> None:
    made = [rows.due(type=name) for _ in range(10) for name in ("Mail", "Bill")]
    start = threading.Barrier(2, timeout=30)

    def claim_once(token: str) -> list[Any]:
        start.wait()
        return ids(claim(geneva, "Bill", "Mail", limit=6, token=token))

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(claim_once, ["t1", "t2"])

    assert (len(first), len(second)) == (6, 6)
    assert sorted(first + second) == made[:12]


def test_a_process_with_very_many_classes_claims_from_all_of_them(
    geneva: gd.Drive, rows: Rows
) -> None:
    types = [f"Class{number}" for number in range(450)]
    due = [rows.due(type=name) for name in (types[0], types[-1])]

    claimed = claim(geneva, *types, limit=9, queues=["default", "mail"])

    assert ids(claimed) == due
