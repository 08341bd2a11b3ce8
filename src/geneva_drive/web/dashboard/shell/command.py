"""Commands by form post: act, redirect, and show the answer on the page that follows.

    return run(request, form, back=f"/workflows/{id}", act=lambda: handle.pause(...),
               done=FlashMessage("Paused", "..."))

A form that was sent twice acts once. A command that comes too late or is refused changes nothing,
and the answer says so.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from geneva_drive.errors import (
    ClaimLost,
    InvalidInput,
    InvalidStateError,
    NotPermitted,
)
from geneva_drive.web.dashboard.shell import answer_cache, flash_message
from geneva_drive.web.dashboard.shell.flash_message import ANSWER_COOKIE, SECONDS, FlashMessage
from geneva_drive.web.dashboard.shell.forms import Fields, form_cookie
from geneva_drive.web.dashboard.shell.page import cookie_path, set_cookie

_REMEMBERED = 2_000  # forms per process
_CHANGED_NOTHING = "Your click changed nothing. The page now shows the current state."


class _SentForms:
    """The forms that were sent recently, with their answers."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, tuple[str, FlashMessage] | None] = OrderedDict()
        self._lock = threading.Lock()

    def is_first(self, key: str) -> bool:
        with self._lock:
            if key in self._answers:
                return False
            self._answers[key] = None
            while len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
            return True

    def note(self, key: str, path: str, answer: FlashMessage) -> None:
        with self._lock:
            self._answers[key] = (path, answer)

    def forget(self, key: str) -> None:
        with self._lock:
            self._answers.pop(key, None)

    def answer_of(self, key: str) -> tuple[str, FlashMessage] | None:
        """Return the path after the form, and its answer; None while its command runs."""
        with self._lock:
            return self._answers.get(key)


_SENT = _SentForms()


def run(
    request: Request,
    form: Fields,
    *,
    back: str,
    act: Callable[[], object],
    done: FlashMessage | Callable[[], FlashMessage],
    ahead: Callable[[], str] | None = None,
    refuse: Callable[[InvalidInput], Response] | None = None,
) -> Response:
    """Call `act`, and redirect to `back`, a path of the dashboard, which shows the flash message.

    `done` may be a function, called after `act`, if its words depend on the result. `ahead` returns
    the path to redirect to on success. `refuse` shows the form again, with its values and faults.
    """
    key = f"{form_cookie(request)}.{request.url.path}.{form.once}"
    if form.once and not _SENT.is_first(key):
        twice = FlashMessage("Sent twice", "The command was carried out only once.", "late")
        return redirect(request, *(_SENT.answer_of(key) or (back, twice)))
    path = back
    try:
        act()
        answer_cache.forget(request.app.state.drive)
        answer = done() if callable(done) else done
        path = back if ahead is None else ahead()
    except (InvalidStateError, ClaimLost) as error:
        answer = FlashMessage("Too late", f"{error} {_CHANGED_NOTHING}", "late")
    except NotPermitted as error:
        answer = FlashMessage("You are not permitted to do this", str(error), "refused")
    except InvalidInput as error:
        if refuse is not None:
            _SENT.forget(key)
            return refuse(error)
        answer = FlashMessage("The form cannot be accepted", str(error), "wrong")
    except BaseException:
        _SENT.forget(key)
        raise
    _SENT.note(key, path, answer)
    return redirect(request, path, answer)


def redirect(request: Request, path: str, answer: FlashMessage | None = None) -> Response:
    """Redirect to a path of the dashboard, which shows the flash message and focuses it."""
    root = cookie_path(request).rstrip("/")
    mark = "" if answer is None else "#answer"
    response = RedirectResponse(f"{root}{local(path)}{mark}", HTTPStatus.SEE_OTHER)
    if answer is not None:
        set_cookie(
            request,
            response,
            ANSWER_COOKIE,
            flash_message.written(request, answer),
            seconds=SECONDS,
        )
    return response


def local(path: str | None) -> str:
    """Return a path of the dashboard unchanged, and the front page for anything else."""
    is_local = path is not None and path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if path is not None and is_local and path.isprintable() else "/"
