from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.definition.workflow import definition_of
from tests.definition.writing import options, refusal


def test_a_step_keeps_its_limit() -> None:
    class Signup(gd.Workflow):
        @gd.step(limit=gd.Limit(key="crm", concurrency=3, rate="10/s"))
        def welcome(self) -> None: ...

        @gd.step
        def remind(self) -> None: ...

    assert options(Signup, "welcome").limit == gd.Limit("crm", 3, "10/s")
    assert options(Signup, "remind").limit is None


def test_a_limit_does_not_change_the_shape_of_the_chain() -> None:
    class Plain(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

    class Limited(gd.Workflow):
        @gd.step(limit=gd.Limit(concurrency=1))
        def welcome(self) -> None: ...

    assert definition_of(Limited).signature == definition_of(Plain).signature


REFUSED = {
    "no limit": ("3", "limit takes a gd.Limit, not 3."),
    "no bound": ("gd.Limit()", "limit needs concurrency, rate or both."),
    "no bound but a key": (
        "gd.Limit('crm')",
        "limit needs concurrency, rate or both.",
    ),
    "none at once": (
        "gd.Limit(concurrency=0)",
        "limit: concurrency must be at least 1, got 0.",
    ),
    "concurrency of text": (
        "gd.Limit(concurrency='3')",
        "limit: concurrency must be a whole number, got '3'.",
    ),
    "concurrency of a boolean": (
        "gd.Limit(concurrency=True)",
        "limit: concurrency must be a whole number, got True.",
    ),
    "wide concurrency": (
        "gd.Limit(concurrency=2**31)",
        "limit: concurrency must be at most 2147483647, got 2147483648.",
    ),
    "rate of words": (
        "gd.Limit(rate='often')",
        "limit: rate must be starts per time, such as '10/s', '100/m' or '5/2s', got 'often'.",
    ),
    "rate of a number": (
        "gd.Limit(rate=10)",
        "limit: rate must be starts per time, such as '10/s', '100/m' or '5/2s', got '10'.",
    ),
    "rate beyond all calendars": (
        "gd.Limit(rate='1/9999999999d')",
        "limit: '9999999999d' is too long a time.",
    ),
    "empty key": ("gd.Limit('', 1)", "limit: key must not be empty."),
    "key of a number": ("gd.Limit(7, 1)", "limit: key must be text, got 7."),
    "key of a class": ("gd.Limit(str, 1)", "limit: key must be text, got <class 'str'>."),
    "long key": (
        "gd.Limit('k' * 192, 1)",
        "limit: key must be at most 191 characters long, got 192.",
    ),
    "key that no database takes": (
        "gd.Limit('a\\x00', 1)",
        "limit: key must not contain NUL or lone surrogates, got 'a\\x00'.",
    ),
    "key of a queue": (
        "gd.Limit('queue:mail', 1)",
        "limit: key must not begin with 'queue:', got 'queue:mail'.",
    ),
    "key that takes nothing": (
        "gd.Limit(lambda: 'crm', 1)",
        "limit: key: '<lambda>' is called with (self) but takes (): too many positional arguments.",
    ),
    "async key": (
        "gd.Limit(account, 1)",
        "limit: key takes a plain function, and 'account' is async.",
    ),
}


@pytest.mark.parametrize(("limit", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_limit_is_refused_with_the_step_and_its_place(limit: str, words: str) -> None:
    message = refusal(f"""
        async def account(workflow): ...
        class Signup(gd.Workflow):
            @gd.step(limit={limit})
            def remind(self): ...
    """)

    assert message == f"Step 'remind': {words} (signup.py:3)"
