"""A notifier that delivers through Apprise."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from geneva_drive.declarative import extras
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput, RetryableError


class AppriseNotifier:
    """Deliver the messages of JSON workflows through Apprise: register it with `gd.notifier`.

    `urls` maps recipients to Apprise URLs; `*` matches every other recipient. It needs the extra
    `notify`.

    >>> import geneva_drive as gd
    >>> notifier = gd.AppriseNotifier({"sales_manager": ["json://localhost:8025/sales"]})
    """

    def __init__(self, urls: Mapping[str, Sequence[str]]) -> None:
        checked = _checked(urls)
        with warnings.catch_warnings():
            # Its plugins try to import a module that Python 3.13 has removed.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._services = {
                recipient: _service(recipient, targets) for recipient, targets in checked.items()
            }

    def __call__(self, recipients: list[str], message: str) -> None:
        for recipient in recipients:
            service = self._services.get(recipient) or self._services.get("*")
            if service is not None and not service.notify(body=message):
                raise RetryableError(f"Apprise could not deliver a message to {recipient!r}.")


def _checked(urls: object) -> Mapping[str, Sequence[str]]:
    if isinstance(urls, Mapping) and all(
        isinstance(recipient, str)
        and isinstance(targets, list | tuple)
        and all(isinstance(url, str) for url in targets)
        for recipient, targets in urls.items()
    ):
        return urls
    raise InvalidInput(
        f"AppriseNotifier takes a dictionary of recipients, each with a list of Apprise URLs, got "
        f"{shown(urls)}."
    )


def _service(recipient: str, urls: Sequence[str]) -> Any:
    service = extras.load("apprise", "notify").Apprise()
    for url in urls:
        if not service.add(url):
            raise InvalidInput(
                f"Apprise cannot read a URL of the recipient {recipient!r}. See "
                f"https://github.com/caronc/apprise/wiki for the URLs of each service."
            )
    return service
