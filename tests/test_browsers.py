from __future__ import annotations

import pytest

from tests import browsers
from tests.browsers import Browser, BrowserDoesNotStart, NoBrowser, find_browser


def test_the_named_browser_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(browsers.VARIABLE, "true")

    assert find_browser() == Browser("true", "given by GENEVA_TEST_BROWSER")


def test_a_named_browser_that_does_not_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(browsers.VARIABLE, "/nowhere/chromium")

    with pytest.raises(BrowserDoesNotStart) as caught:
        find_browser()

    assert str(caught.value) == (
        "GENEVA_TEST_BROWSER names a browser that cannot be used: '/nowhere/chromium', No such "
        "file or directory. Correct it, or unset it to let the tests look for one."
    )


def test_without_a_browser_the_tests_are_skipped_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(browsers.VARIABLE, raising=False)
    monkeypatch.setattr("shutil.which", lambda name: None)

    missed = find_browser()

    assert isinstance(missed, NoBrowser)
    assert str(missed) == (
        "No Chromium to test the dashboard in: it is not installed; only root on Debian can "
        "install it. Install one, or name its program in GENEVA_TEST_BROWSER."
    )
