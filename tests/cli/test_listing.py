"""`geneva list`."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import text

import geneva_drive as gd
from geneva_drive.testing import drain, speedrun
from tests.cli.conftest import Run
from tests.cli.screens import drawn, screen


def _create_signups() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

    class Refund(gd.Workflow):
        @gd.step
        def pay_back(self) -> None: ...

    Signup.create(hero=gd.HeroRef("Team", "7"))
    speedrun(Signup.create(hero=gd.HeroRef("Team", "8")))
    Refund.create(hero=gd.HeroRef("Order", "A/1"), context={"amount": 12}).pause(reason="odd")


def test_the_list_shows_every_workflow_with_its_hero_state_and_step(
    standing: gd.Drive, run: Run
) -> None:
    _create_signups()

    result = run("list")

    assert result.exit_code == 0
    assert screen(result) == drawn("""
        ID  Type    Hero       State     Step      Updated (UTC)
        ──────────────────────────────────────────────────────────────
        3   Refund  Order/A/1  paused    pay_back  2026-01-02 03:04:05
        2   Signup  Team/8     finished            2026-01-02 03:04:05
        1   Signup  Team/7     ready     welcome   2026-01-02 03:04:05
    """)


def test_a_terminal_too_narrow_for_all_columns_gets_fewer_and_no_broken_words(
    standing: gd.Drive, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    _create_signups()
    monkeypatch.setenv("COLUMNS", "45")

    result = run("list")

    assert screen(result) == drawn("""
        ID  Type    Hero       State     Step
        ─────────────────────────────────────────
        3   Refund  Order/A/1  paused    pay_back
        2   Signup  Team/8     finished
        1   Signup  Team/7     ready     welcome
    """)


def test_the_narrowest_list_keeps_id_type_state_and_step(
    standing: gd.Drive, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    _create_signups()
    monkeypatch.setenv("COLUMNS", "35")

    result = run("list", "--state", "paused")

    assert screen(result) == drawn("""
        ID  Type    State   Step
        ────────────────────────────
        3   Refund  paused  pay_back
    """)


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        pytest.param(["--state", "finished"], [2], id="state"),
        pytest.param(["--type", "Signup"], [2, 1], id="type"),
        pytest.param(["--hero", "Team/7"], [1], id="hero"),
        pytest.param(["--hero", "Order/A/1"], [3], id="hero-with-a-slash-in-its-id"),
        pytest.param(["--limit", "2"], [3, 2], id="limit"),
        pytest.param(["--oldest"], [1, 2, 3], id="oldest"),
        pytest.param(["--oldest", "--limit", "2"], [1, 2], id="oldest-with-a-limit"),
        pytest.param(["--since", "1h"], [3, 2, 1], id="since-a-duration"),
        pytest.param(["--since", "2999-01-31"], [], id="since-a-day"),
        pytest.param(["--since", "2020-01-31T12:00+02:00"], [3, 2, 1], id="since-a-moment"),
        pytest.param(["--type", "Signup", "--state", "ready"], [1], id="type-and-state"),
        pytest.param(["--type", "Unheard"], [], id="type-that-nobody-knows"),
    ],
)
def test_options_choose_which_workflows_are_listed(
    geneva: gd.Drive, run: Run, options: list[str], ids: list[int]
) -> None:
    _create_signups()

    result = run("list", "--json", *options)

    assert [item["id"] for item in json.loads(result.stdout)["items"]] == ids


def test_a_list_that_was_cut_says_how_many_there_are(geneva: gd.Drive, run: Run) -> None:
    _create_signups()

    result = run("list", "--limit", "2")

    assert screen(result).splitlines()[-1] == (
        "The newest 2 of 3. Filter with --state, --type, --template, --hero or --since, raise "
        "--limit, or continue with --cursor 2."
    )


def test_an_empty_list_says_so(geneva: gd.Drive, run: Run) -> None:
    result = run("list")

    assert (result.exit_code, result.stdout) == (0, "No workflows found.\n")


def test_the_list_as_json_has_the_bodies_of_the_rest_api(standing: gd.Drive, run: Run) -> None:
    _create_signups()

    result = run("list", "--state", "paused", "--json")

    assert json.loads(result.stdout) == {
        "items": [
            {
                "id": 3,
                "type": "Refund",
                "template": None,
                "definition_version": None,
                "state": "paused",
                "needs": "operator",
                "started_by": None,
                "parent_id": None,
                "children": [],
                "queue": "default",
                "priority": 0,
                "requested": None,
                "result": None,
                "result_reason": None,
                "hero_type": "Order",
                "hero_id": "A/1",
                "context": {"amount": 12},
                "paused_at": "2026-01-02T03:04:05Z",
                "paused_reason": "odd",
                "paused_step_name": "pay_back",
                "next_step_name": "pay_back",
                "created_at": "2026-01-02T03:04:05Z",
                "updated_at": "2026-01-02T03:04:05Z",
                "started_at": None,
                "finished_at": None,
                "canceled_at": None,
                "why": "It has been paused since 2026-01-02 03:04:05 UTC (odd): `resume` runs "
                "step 'pay_back'; `skip` leaves it out.",
            }
        ],
        "next_cursor": None,
    }


def test_the_cursor_of_a_json_list_leads_to_the_next_page(geneva: gd.Drive, run: Run) -> None:
    _create_signups()

    first = json.loads(run("list", "--json", "--limit", "2").stdout)
    second = json.loads(
        run("list", "--json", "--limit", "2", "--cursor", first["next_cursor"]).stdout
    )

    assert ([item["id"] for item in first["items"]], first["next_cursor"]) == ([3, 2], "2")
    assert ([item["id"] for item in second["items"]], second["next_cursor"]) == ([1], None)


def test_the_cursor_goes_on_upwards_from_the_oldest(geneva: gd.Drive, run: Run) -> None:
    _create_signups()

    page = json.loads(run("list", "--json", "--oldest", "--limit", "1", "--cursor", "1").stdout)

    assert ([item["id"] for item in page["items"]], page["next_cursor"]) == ([2], "2")


def test_a_family_is_listed_with_its_results(standing: gd.Drive, run: Run) -> None:
    class Ship(gd.Workflow):
        @gd.step(keep_result=True)
        def pack(self) -> list[int]:
            return list(range(20))

    class Order(gd.Workflow):
        ship = gd.child(Ship)

        @gd.step
        def thank(self) -> None:
            self.finish(result="sent")

    Order.create()
    drain(standing)

    assert screen(run("list")) == drawn("""
        ID  Type   Parent  Children  Hero  State     Step  Result                                       Updated (UTC)
        ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────
        2   Ship   1                       finished        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1...  2026-01-02 03:04:05
        1   Order          1               finished        "sent"                                       2026-01-02 03:04:05
    """)  # noqa: E501 - as wide as a pipe
    child, parent = json.loads(run("list", "--json").stdout)["items"]
    assert (child["parent_id"], child["children"], child["result"]) == (1, [], list(range(20)))
    assert (parent["parent_id"], parent["children"], parent["result"]) == (None, [2], "sent")


def test_the_json_list_names_the_template_of_a_dynamic_workflow(geneva: gd.Drive, run: Run) -> None:
    @gd.template(name="nightly")
    def nightly(w: gd.DynamicWorkflow) -> None:
        w.node("export")

    nightly.start()

    [item] = json.loads(run("list", "--json").stdout)["items"]

    assert (item["type"], item["template"]) == (None, "nightly")


def test_the_json_list_holds_all_there_are_unless_a_limit_is_given(
    geneva: gd.Drive, run: Run
) -> None:
    class Many(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    for _ in range(51):
        Many.create()

    result = run("list", "--json")

    assert len(json.loads(result.stdout)["items"]) == 51


def test_ids_that_are_uuids_are_text_in_json_and_whole_in_the_list(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Short(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    drive = gd.configure(f"sqlite:///{tmp_path / 'uuids.db'}")
    with drive.engine.begin() as connection:
        connection.execute(text("CREATE TABLE users (id CHAR(36) PRIMARY KEY)"))
    drive.migrate()
    workflow_id = Short.create(hero=gd.HeroRef("Team", "7")).id
    monkeypatch.setenv("COLUMNS", "80")

    body = json.loads(run("show", str(workflow_id), "--json").stdout)
    listed = screen(run("list")).splitlines()

    assert UUID(body["id"]) == workflow_id
    assert listed[-1] == f"{workflow_id}  Short  Team/7  ready  only"
