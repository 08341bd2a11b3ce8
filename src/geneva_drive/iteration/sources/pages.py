"""Pages of items; each page names the next one by a token."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.iteration import maybe_async

T = TypeVar("T")

Fetch = Callable[[Any], tuple[Iterable[T], Any]]
MoveCursor = Callable[[tuple[Any, int]], None]


def pairs(
    fetch: Fetch[T], cursor: Any, move_cursor: MoveCursor
) -> Iterator[tuple[T, tuple[Any, int]]]:
    """Yield the items of all pages; a cursor is (token of the page, items done on it).

    `move_cursor` is called after an empty page, so that an endless series of empty pages can be
    interrupted and continued like any other loop.
    """
    return _pairs_from(fetch, PagePosition.of(cursor), move_cursor)


def _pairs_from(
    fetch: Fetch[T], position: PagePosition | None, move_cursor: MoveCursor
) -> Iterator[tuple[T, tuple[Any, int]]]:
    while position is not None:
        fetched = maybe_async.require_plain(fetch(position.token), "fetch of iterate_over_pages()")
        page = FetchedPage.of(fetched, position.token)
        yield from page.pairs(position.done)
        if page.has_nothing_left(position.done):
            move_cursor((page.next_token, 0))
        position = page.following


@dataclass(frozen=True, slots=True)
class PagePosition:
    """The position of a loop over pages: `done` items of the page at `token` are done."""

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
            f"The saved cursor {shown(cursor)} is not a position in a page: this loop saves "
            f"(token, count). It was saved by another loop. Rewind the step with `geneva rewind`, "
            f"or restore that loop."
        )


@dataclass(frozen=True, slots=True)
class FetchedPage:
    token: Any
    items: list[Any]
    next_token: Any

    @classmethod
    def of(cls, fetched: Any, token: Any) -> FetchedPage:
        match fetched:
            case (items, next_token) if isinstance(fetched, tuple) and isinstance(items, Iterable):
                if next_token is not None and next_token == token:
                    raise InvalidInput(
                        f"The page of token {shown(token)} names itself as the next one, so the "
                        f"loop would never end. Return None as the next token of the last page."
                    )
                return cls(token, list(items), next_token)
        raise InvalidInput(
            f"fetch({shown(token)}) returned {shown(fetched)}. It should return a tuple (items, "
            f"next_token), with None as the next token of the last page."
        )

    @property
    def following(self) -> PagePosition | None:
        return None if self.next_token is None else PagePosition(self.next_token, 0)

    def has_nothing_left(self, done: int) -> bool:
        """True if no item of this page is left, and another page follows."""
        return done >= len(self.items) and self.next_token is not None

    def pairs(self, done: int) -> Iterator[tuple[Any, tuple[Any, int]]]:
        """Yield the items that are not done, each with the cursor after it."""
        for count, item in enumerate(self.items[done:], done + 1):
            # After a page's last item, move to the next page, so that this one is not fetched
            # again.
            is_last = count == len(self.items) and self.next_token is not None
            yield item, (self.next_token, 0) if is_last else (self.token, count)
