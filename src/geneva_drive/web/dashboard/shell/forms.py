"""Forms: reading posts, and refusing posts from other sites.

Each form carries a token made from a random cookie and the session. Another site can read neither
the cookie nor the page. `checked_form` is a dependency of the router, so it runs for every post of
the dashboard; a route takes the fields with the parameter `form: PostedForm`.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterator, Mapping
from hashlib import sha256
from http import HTTPStatus
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from starlette.exceptions import HTTPException

from geneva_drive.errors import InvalidInput
from geneva_drive.web.security.gate import is_from_elsewhere
from geneva_drive.web.security.sessions import SESSION_COOKIE

FORM_COOKIE = "geneva_form"
TOKEN = "csrf"
ONCE = "once"
_MOST_FIELDS = 5_000  # enough for a page of selected workflows
_COOKIE_LENGTH = 43
_ENDED = (
    "This form was open for too long, or was opened before you signed in. Nothing was changed. Go "
    "back, reload the page and send it again."
)


class Fields(Mapping[str, str]):
    """The fields of a form, without the token; a repeated field has its last value."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = [(name, value) for name, value in pairs if name not in (TOKEN, ONCE)]
        self._values = dict(self._pairs)
        self.once = dict(pairs).get(ONCE, "")

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def all(self, name: str) -> list[str]:
        """Return every value of a repeated field, such as checked boxes."""
        return [value for one, value in self._pairs if one == name]

    def text(self, name: str) -> str | None:
        """Return a field without spaces around it; None if it is empty or absent."""
        return self._values.get(name, "").strip() or None


def form_cookie(request: Request) -> str:
    """Return the random cookie of this browser; a new one if it has none."""
    given = request.cookies.get(FORM_COOKIE, "")
    if len(given) == _COOKIE_LENGTH and given.isascii():
        return given
    if not hasattr(request.state, "form_cookie"):
        request.state.form_cookie = secrets.token_urlsafe(32)
    made: str = request.state.form_cookie
    return made


def new_form_cookie(request: Request) -> str | None:
    """Return the cookie that the response must set; None if the browser has it."""
    return getattr(request.state, "form_cookie", None)


def token_of(request: Request) -> str:
    """Return the token for the forms of a page."""
    # A form that was opened in another session is refused.
    owner = request.cookies.get(SESSION_COOKIE, "")
    return hmac.new(form_cookie(request).encode(), owner.encode(), sha256).hexdigest()


async def checked_form(request: Request) -> Fields | None:
    """Return the fields that one of our own pages posted; None for a GET."""
    if request.method in ("GET", "HEAD"):
        return None
    drive = request.app.state.drive
    if is_from_elsewhere(request, drive.settings.public_url):
        raise HTTPException(HTTPStatus.FORBIDDEN, "A page of another site may not act here.")
    pairs = _pairs(await request.body())
    given = dict(pairs).get(TOKEN, "")
    if not hmac.compare_digest(given.encode(), token_of(request).encode()):
        raise HTTPException(HTTPStatus.FORBIDDEN, _ENDED)
    return Fields(pairs)


def _pairs(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except (UnicodeDecodeError, ValueError):
        raise InvalidInput("The form cannot be read. Go back and send it again.") from None


PostedForm = Annotated[Fields, Depends(checked_form)]
