"""Items that a service hands out page by page, each page naming the next by a token."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from geneva_drive.errors import InvalidInput
from geneva_drive.iteration import maybe_async

T = TypeVar("T")

Fetch = Callable[[Any], tuple[Iterable[T], Any]]
PassBy = Callable[[tuple[Any, int]], None]


def pairs(fetch: Fetch[T], cursor: Any, pass_by: PassBy) -> Iterator[tuple[T, tuple[Any, int]]]:
    """Give the items of all pages, each with the token of its page and how many of it are done.

    `pass_by` is told the place behind a page that has none: an endless run of these is to be
    stopped, and gone on with, like any other.
    """
    return _from_place(fetch, PagePosition.of(cursor), pass_by)


def _from_place(
    fetch: Fetch[T], place: PagePosition | None, pass_by: PassBy
) -> Iterator[tuple[T, tuple[Any, int]]]:
    while place is not None:
        fetched = maybe_async.at_once(fetch(place.token), "fetch of iterate_over_pages()")
        page = Page.of(fetched, place.token)
        yield from page.pairs(place.done)
        if page.is_passed_by(place.done):
            pass_by((page.next_token, 0))
        place = page.following


@dataclass(frozen=True, slots=True)
class PagePosition:
    """Where a loop over pages stands: so many items of the page of this token are done."""

    token: Any
    done: int

    @classmethod
    def of(cls, cursor: Any) -> PagePosition:
        match cursor:
            case None:
                return cls(None, 0)
            case (token, int(done)) if not isinstance(done, bool) and done >= 0:
                return cls(token, done)
        raise InvalidInput(
            f"The saved cursor {cursor!r} is not a place in a page: this loop saves (token, "
            f"count). It was saved by another loop. Rewind the step with `geneva rewind`, or put "
            f"that loop back."
        )


@dataclass(frozen=True, slots=True)
class Page:
    token: Any
    items: list[Any]
    next_token: Any

    @classmethod
    def of(cls, fetched: Any, token: Any) -> Page:
        match fetched:
            case (items, next_token) if isinstance(fetched, tuple) and isinstance(items, Iterable):
                if next_token is not None and next_token == token:
                    raise InvalidInput(
                        f"The page of token {token!r} names itself as the next one, so the loop "
                        f"would never end. Return None as the next token of the last page."
                    )
                return cls(token, list(items), next_token)
        raise InvalidInput(
            f"fetch({token!r}) returned {fetched!r}. It should return a tuple (items, "
            f"next_token), with None as the next token of the last page."
        )

    @property
    def following(self) -> PagePosition | None:
        return None if self.next_token is None else PagePosition(self.next_token, 0)

    def is_passed_by(self, done: int) -> bool:
        """Say whether nothing of it is left to do, but another page comes."""
        return done >= len(self.items) and self.next_token is not None

    def pairs(self, done: int) -> Iterator[tuple[Any, tuple[Any, int]]]:
        """Give the items that are not done, each with the place behind it."""
        for count, item in enumerate(self.items[done:], done + 1):
            # After a page's last item the page need not be fetched again.
            is_left = count == len(self.items) and self.next_token is not None
            yield item, (self.next_token, 0) if is_left else (self.token, count)
