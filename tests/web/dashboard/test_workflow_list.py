"""The list of workflows: filters in the address, tabs, pages, CSV."""

from __future__ import annotations

import csv
import io
import re

import pytest

import geneva_drive as gd
from geneva_drive.web.dashboard.pages.workflows.export import cell
from geneva_drive.web.dashboard.shell import answer_cache
from tests.storage.plans import noted
from tests.web.dashboard import shop_workflows as shop_workflows  # known while these run
from tests.web.dashboard.reading import rows_of, words_of
from tests.web.dashboard.signing_in import Browser, signed_in


def test_the_tabs_count_who_acts_next(viewer: Browser) -> None:
    page = words_of(viewer.get("/workflows").text)

    assert "All Ongoing 36 Person 7 Operator 9 Event 7 Timer 8 Child 2 Worker 3 Finished" in page
    assert "36 match" in page


def test_a_row_says_who_acts_next_and_why(viewer: Browser) -> None:
    rows = rows_of(viewer.get("/workflows?needs=child").text)

    assert [row[:4] for row in rows] == [
        ["child", "ready", "OrderWorkflow 34", "Order 84-2403"],
        ["child", "ready", "OrderWorkflow 32", "Order 84-2401"],
    ]
    assert rows[0][4] == "ship waits for its child workflow 36 (ShipWorkflow), which is ready."


def test_failed_and_held_workflows_have_different_hues(viewer: Browser) -> None:
    page = viewer.get("/workflows?needs=operator").text

    assert page.count('<span class="word failed">') == 8
    assert page.count('<span class="word held">') == 1
    assert "Held by hand since" in words_of(page)


def test_filters_are_chips_that_remove_themselves(viewer: Browser) -> None:
    page = viewer.get("/workflows?type=OrderWorkflow&needs=operator").text

    assert "6 match" in words_of(page)
    assert 'class="chip" href="/workflows?needs=operator"' in page


def test_a_bad_filter_is_left_out_with_what_was_meant(viewer: Browser) -> None:
    page = viewer.get("/workflows?needs=persn&created_after=soon&type=Refund").text

    read = words_of(page)
    assert "needs=persn is no known value and was left out. Did you mean person ?" in read
    assert "created_after=soon is no known value and was left out." in read
    assert 'href="/workflows?type=Refund&amp;needs=person"' in page
    assert "2 match" in read


def test_a_filter_without_a_match_says_how_to_see_more(viewer: Browser) -> None:
    page = words_of(viewer.get("/workflows?type=Refund&needs=child&q=x").text)

    assert "No workflow matches Take a filter away to see more." in page


def test_ended_workflows_have_their_tabs(viewer: Browser) -> None:
    canceled = rows_of(viewer.get("/workflows?state=canceled").text)

    assert [row[:3] for row in canceled] == [
        ["none", "canceled", f"ChooseDepot {n}"] for n in "432"
    ]
    assert "39 match" in words_of(viewer.get("/workflows?state=all").text)


def test_pages_lead_to_older_ones_and_back(viewer: Browser) -> None:
    first = viewer.get("/workflows?state=all").text
    older = re.findall(r'href="([^"]*older=[^"]*)"', first)[0].replace("&amp;", "&")
    second = viewer.get(older).text
    newer = re.findall(r'href="([^"]*newer=[^"]*)"', second)[0].replace("&amp;", "&")
    again = viewer.get(newer).text

    ids = [[row[2].split()[-1] for row in rows_of(page)] for page in (first, second, again)]
    assert ids[0] == [str(n) for n in range(39, 14, -1)]
    assert ids[1] == [str(n) for n in range(14, 0, -1)]
    assert ids[2] == ids[0]
    assert 'rel="prev"' not in first
    assert 'rel="next"' not in second


def test_a_cursor_that_is_none_says_so(viewer: Browser) -> None:
    answer = viewer.get("/workflows?older=nonsense")

    assert answer.status_code == 422
    assert "This cannot be read" in answer.text


def test_the_export_has_what_the_filters_select(viewer: Browser) -> None:
    answer = viewer.get("/workflows.csv?type=OrderWorkflow&needs=operator")

    lines = list(csv.DictReader(io.StringIO(answer.text)))
    assert answer.headers["content-disposition"] == 'attachment; filename="workflows.csv"'
    assert [line["hero_id"] for line in lines][:2] == ["84-2286", "84-2287"]
    assert {line["needs"] for line in lines} == {"operator"}


def test_the_export_reads_more_than_one_page(sqlite_drive: gd.Drive) -> None:
    class Plain(gd.Workflow):
        @gd.step
        def one(self) -> None: ...

    for _ in range(230):
        sqlite_drive.workflows(Plain).create()
    browser = signed_in(gd.asgi(sqlite_drive), sqlite_drive, "viewer")

    lines = browser.get("/workflows.csv").text.splitlines()

    assert len(lines) == 231
    assert len(set(lines)) == 231


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@sum", "\tx", "\rx"])
def test_a_spreadsheet_takes_no_cell_as_a_formula(text: str) -> None:
    assert cell(text) == f"'{text}"


def test_the_statements_of_a_page_do_not_grow_with_its_rows(sqlite_drive: gd.Drive) -> None:
    class Sleeper(gd.Workflow):
        @gd.step(wait="2h")
        def later(self) -> None: ...

    browser = signed_in(gd.asgi(sqlite_drive), sqlite_drive, "viewer")

    counts = [_statements_of_a_list(browser, sqlite_drive, Sleeper) for _ in range(2)]

    assert counts[0] == counts[1]


def _statements_of_a_list(browser: Browser, drive: gd.Drive, sleeper: type[gd.Workflow]) -> int:
    for _ in range(3):
        drive.workflows(sleeper).create()
    answer_cache.forget(drive)
    with noted(drive.engine) as statements:
        rows = rows_of(browser.get("/workflows").text)
    assert all("later runs at" in row[4] for row in rows)
    return len(statements)


@pytest.mark.parametrize("text", ["Order 84-2403", "Order 84-240", "84-2403"])
def test_a_hero_is_found_as_the_list_shows_it(viewer: Browser, text: str) -> None:
    rows = rows_of(viewer.get("/workflows", params={"q": text, "needs": "child"}).text)

    assert rows[0][3] == "Order 84-2403"


def test_the_name_of_a_type_finds_its_workflows(viewer: Browser) -> None:
    answer = viewer.get("/workflows?q=OrderWorkflow&needs=child")

    assert answer.headers["location"] == "/workflows?needs=child&type=OrderWorkflow"
