"""The flash message of a command, which the next page shows once, with the focus on it."""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Literal

from fastapi import Request

from geneva_drive.web.dashboard.shell.forms import form_cookie
from geneva_drive.web.dashboard.shell.words import cut

ANSWER_COOKIE = "geneva_answer"
SECONDS = 60  # until an answer that no page has shown expires
_LONGEST_TITLE = 200
_LONGEST_TEXT = 1200  # characters, so that browsers keep the cookie

Kind = Literal["done", "late", "refused", "wrong"]


@dataclass(frozen=True, slots=True)
class FlashMessage:
    """The result of a command, in words."""

    title: str
    text: str = ""
    kind: Kind = "done"
    link: str | None = None  # a path of the dashboard
    link_words: str | None = None

    @property
    def hue(self) -> str:
        return {"done": "done", "late": "held", "refused": "quiet", "wrong": "failed"}[self.kind]

    @property
    def glyph(self) -> str:
        return {"done": "completed", "late": "late", "refused": "lock", "wrong": "late"}[self.kind]


def written(request: Request, answer: FlashMessage) -> str:
    """Return the cookie of a flash message, signed with the cookie of the browser's forms."""
    values = asdict(answer)
    values["title"] = cut(answer.title, _LONGEST_TITLE)
    values["text"] = cut(answer.text, _LONGEST_TEXT)
    text = base64.urlsafe_b64encode(json.dumps(values).encode()).decode()
    return f"{text}.{_signature(request, text)}"


def read(request: Request) -> FlashMessage | None:
    """Return the answer that waits for this page."""
    text, _, signature = request.cookies.get(ANSWER_COOKIE, "").rpartition(".")
    if not text or not hmac.compare_digest(signature.encode(), _signature(request, text).encode()):
        return None
    try:
        return FlashMessage(**json.loads(base64.urlsafe_b64decode(text)))
    except (binascii.Error, ValueError, TypeError):
        return None


def _signature(request: Request, text: str) -> str:
    return hmac.new(form_cookie(request).encode(), text.encode(), sha256).hexdigest()
