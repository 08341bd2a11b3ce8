"""Send webhooks: signed HTTP requests, with retryable and permanent errors."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from geneva_drive.declarative import extras
from geneva_drive.declarative.actions.http_exchange import (
    HttpResponse,
    Message,
    Timeouts,
    exchange,
    parsed_url,
)
from geneva_drive.display import shown
from geneva_drive.errors import PermanentError, RetryableError

_MAX_REDIRECTS = 5
_MAX_RETRY_AFTER = timedelta(days=1)
_SUCCESS = range(200, 300)
_TOO_MANY_REQUESTS = 429
_SERVER_ERROR = 500
_KEEPS_BODY = (307, 308)
_REDIRECTS = (301, 302, 303, *_KEEPS_BODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest:
    """A request with its templates replaced."""

    url: str
    method: str
    body: Any
    headers: Mapping[str, str]
    message_id: str  # the same for every attempt, so that the receiver recognizes it


def send(
    request: WebhookRequest,
    *,
    secret: str | None,
    allowed_hosts: Collection[str],
    now: datetime,
    patience: Timeouts | None = None,
) -> int:
    """Send a request and return the status of the answer.

    429, 5xx and network failures raise a `RetryableError`, other refusals a `PermanentError`.
    """
    message = _signed(request, secret, now)
    for _ in range(_MAX_REDIRECTS + 1):
        answer = exchange(message, allowed_hosts, patience or Timeouts())
        if answer.status not in _REDIRECTS or "location" not in answer.headers:
            _judge(answer, message.url, now)
            return answer.status
        message = _redirected(message, answer)
    raise PermanentError(f"{shown(request.url)} redirects more than {_MAX_REDIRECTS} times.")


def _signed(request: WebhookRequest, secret: str | None, now: datetime) -> Message:
    # In ASCII, because a lone surrogate has no UTF-8 form; times and the like become text.
    text = "" if request.body is None else json.dumps(request.body, default=str)
    headers = {name.lower(): value for name, value in request.headers.items()}
    if request.body is not None:
        headers.setdefault("content-type", "application/json")
    headers["webhook-id"] = request.message_id
    headers["webhook-timestamp"] = str(int(now.timestamp()))
    if secret is not None:
        standardwebhooks = extras.load("standardwebhooks")
        signer = standardwebhooks.Webhook(secret)
        headers["webhook-signature"] = signer.sign(request.message_id, now, text)
    content = text.encode() if request.body is not None else None
    return Message(url=request.url, method=request.method, content=content, headers=headers)


def _redirected(message: Message, answer: HttpResponse) -> Message:
    before = parsed_url(message.url)
    target = str(before.join(answer.headers["location"]))  # which httpx has parsed already
    after = parsed_url(target)
    if (before.scheme, after.scheme) == ("https", "http"):
        raise PermanentError(
            f"{shown(message.url)} redirects to {shown(target)}, which is not encrypted. Write the "
            f"final URL into the document."
        )
    followed = replace(message, url=target)
    if answer.status not in _KEEPS_BODY:
        followed = replace(followed, method="GET", content=None)
    if (before.scheme, before.netloc) != (after.scheme, after.netloc):
        # Headers may hold credentials for the first host, which the second must not get.
        kept = {name: value for name, value in message.headers.items() if name in _OWN_HEADERS}
        followed = replace(followed, headers=kept)
    return followed


_OWN_HEADERS = ("content-type", "webhook-id", "webhook-timestamp", "webhook-signature")


def _judge(answer: HttpResponse, url: str, now: datetime) -> None:
    if answer.status in _SUCCESS:
        return
    said = f" It said: {shown(answer.text)}." if answer.text else ""
    words = f"{shown(url)} answered {answer.status}.{said}"
    if answer.status == _TOO_MANY_REQUESTS or answer.status >= _SERVER_ERROR:
        raise RetryableError(words, retry_after=_retry_after(answer.headers, now))
    raise PermanentError(words)


def _retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Return the wait of a `Retry-After` header, seconds or a date; at most a day."""
    value = headers.get("retry-after", "").strip()
    try:
        if value.isdecimal():
            return min(timedelta(seconds=int(value)), _MAX_RETRY_AFTER)
        moment = parsedate_to_datetime(value)
    except OverflowError:
        return _MAX_RETRY_AFTER
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max(timedelta(), aware - now), _MAX_RETRY_AFTER)
