"""Tracebacks show the user's frames; those of libraries are folded."""

from __future__ import annotations

import traceback

from geneva_drive.drive.timeline.traceback_parts import (
    FoldedFrames,
    Frame,
    Remark,
    split_traceback,
)

STRIPE = """\
Traceback (most recent call last):
  File "/venv/lib/python3.12/site-packages/geneva_drive/engine/bodies.py", line 9, in run
    return body(workflow)
           ^^^^^^^^^^^^^^
  File "/srv/shop/orders.py", line 88, in charge
    receipt = gateway.charge(self.hero.total)
  File "/srv/shop/gateway.py", line 41, in charge
    return stripe.PaymentIntent.create(amount=amount)
  File "/opt/venv/lib/python3.12/site-packages/stripe/api.py", line 3, in create
    return self._request()
  File "/opt/venv/lib/python3.12/site-packages/requests/sessions.py", line 7, in send
  File "/usr/lib/python3.12/socket.py", line 8, in connect
    raise error
stripe.error.APIConnectionError: Request timed out
with a second line
"""


def test_the_frames_of_libraries_are_folded() -> None:
    engine, charge, gateway, library, *error = split_traceback(STRIPE)

    assert isinstance(engine, FoldedFrames)
    assert engine.words == "1 frame in geneva_drive"
    assert charge == Frame(
        path="/srv/shop/orders.py",
        line=88,
        function="charge",
        code="receipt = gateway.charge(self.hero.total)",
    )
    assert isinstance(gateway, Frame)
    assert isinstance(library, FoldedFrames)
    assert library.words == "3 frames in stripe, requests and Python"
    assert library.frames[1].code is None
    assert error == [
        Remark(text="stripe.error.APIConnectionError: Request timed out"),
        Remark(text="with a second line"),
    ]


def _fail() -> None:
    try:
        dict[str, str]()["inner"]
    except KeyError as error:
        raise ValueError("outer") from error


def test_chained_errors_keep_their_order() -> None:
    try:
        _fail()
    except ValueError:
        text = traceback.format_exc()

    kinds = [type(part).__name__ for part in split_traceback(text)]
    assert kinds == ["Frame", "Remark", "Remark", "Frame", "Frame", "Remark"]


def test_text_that_is_no_traceback_stays_as_it_is() -> None:
    assert split_traceback(None) == []
    assert split_traceback("<script>alert(1)</script>\n\n") == [
        Remark(text="<script>alert(1)</script>")
    ]


def test_the_workflows_of_the_demo_stand_for_those_of_a_user() -> None:
    path = "/venv/lib/python3.12/site-packages/geneva_drive/cli/demo/showroom/workflows.py"

    [frame] = split_traceback(f'  File "{path}", line 7, in charge\n    pay()')

    assert frame == Frame(path=path, line=7, function="charge", code="pay()")
