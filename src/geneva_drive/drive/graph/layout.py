"""The layout of a picture: one row of boxes for each level, few crossing arrows.

A small version of Sugiyama's layered drawing: an arrow over several rows gets a point in each row
it crosses; rows are ordered by the positions of their neighbours, then moved towards them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from geneva_drive.drive.graph.picture import Picture

_SWEEPS = 6
_BETWEEN_BOXES = 28.0
_BETWEEN_ROWS = 56.0
_POINT_WIDTH = 4.0


@dataclass(frozen=True, slots=True)
class Size:
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Gaps:
    """The space between two boxes of a row, and between two rows."""

    boxes: float = _BETWEEN_BOXES
    rows: float = _BETWEEN_ROWS


_WIDE = Gaps()


@dataclass(slots=True)
class _Item:
    """A box, or the point where an arrow crosses a row."""

    width: float
    row: int
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    x: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The centre of each box, and the points of each arrow."""

    width: float
    height: float
    middles: Sequence[tuple[float, float]]
    paths: Sequence[Sequence[tuple[float, float]]]


def lay_out(picture: Picture, sizes: Sequence[Size], gaps: Gaps = _WIDE) -> Layout:
    items, routes = _linked(picture, sizes)
    rows = _rows(items, len(picture.levels))
    for sweep in range(_SWEEPS):
        _order(rows, items, downwards=sweep % 2 == 0)
    for row in rows:
        _position(row, items, dict.fromkeys(row, 0.0), gaps)
    for sweep in range(_SWEEPS):
        _approach(rows, items, gaps, downwards=sweep % 2 == 1)
    tops, bottoms = _heights(picture, sizes, gaps)
    left = min((item.x - item.width / 2 for item in items), default=0.0)
    for item in items:
        item.x -= left
    return Layout(
        width=max((item.x + item.width / 2 for item in items), default=0.0),
        height=bottoms[-1] if bottoms else 0.0,
        middles=[
            (items[place].x, (tops[items[place].row] + bottoms[items[place].row]) / 2)
            for place in range(len(picture.boxes))
        ],
        paths=[_path(route, items, sizes, tops, bottoms) for route in routes],
    )


def _linked(picture: Picture, sizes: Sequence[Size]) -> tuple[list[_Item], list[list[int]]]:
    row_of = {place: row for row, level in enumerate(picture.levels) for place in level}
    items = [_Item(size.width, row_of[place]) for place, size in enumerate(sizes)]
    routes = []
    for parent, place in picture.arrows:
        route = [parent]
        for row in range(row_of[parent] + 1, row_of[place]):
            route.append(len(items))
            items.append(_Item(_POINT_WIDTH, row))
        route.append(place)
        for upper, lower in itertools.pairwise(route):
            items[upper].below.append(lower)
            items[lower].above.append(upper)
        routes.append(route)
    return items, routes


def _rows(items: Sequence[_Item], count: int) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(count)]
    for number, item in enumerate(items):
        rows[item.row].append(number)
    return rows


def _order(rows: list[list[int]], items: Sequence[_Item], *, downwards: bool) -> None:
    places = {number: place for row in rows for place, number in enumerate(row)}
    for row in rows if downwards else reversed(rows):
        wanted = {
            number: fmean(places[each] for each in neighbours) if neighbours else places[number]
            for number in row
            for neighbours in [_neighbours(items[number], downwards=downwards)]
        }
        row.sort(key=wanted.__getitem__)
        places.update((number, place) for place, number in enumerate(row))


def _approach(
    rows: list[list[int]], items: Sequence[_Item], gaps: Gaps, *, downwards: bool
) -> None:
    for row in rows if downwards else reversed(rows):
        wanted = {}
        for number in row:
            neighbours = _neighbours(items[number], downwards=downwards)
            xs = [items[each].x for each in neighbours]
            wanted[number] = fmean(xs) if xs else items[number].x
        _position(row, items, wanted, gaps)


def _neighbours(item: _Item, *, downwards: bool) -> list[int]:
    return item.above if downwards else item.below


def _position(
    row: Sequence[int], items: Sequence[_Item], wanted: Mapping[int, float], gaps: Gaps
) -> None:
    """Move each item as near to its wanted position as possible, keeping the order.

    Items that would overlap form a cluster, which moves to the mean of their positions.
    """
    offsets = _offsets(row, items, gaps)
    clusters: list[tuple[float, int]] = []  # the mean of the wanted positions, and their number
    for number, offset in zip(row, offsets, strict=True):
        mean, count = wanted[number] - offset, 1
        while clusters and clusters[-1][0] >= mean:
            former, members = clusters.pop()
            mean = (former * members + mean * count) / (members + count)
            count += members
        clusters.append((mean, count))
    means = [mean for mean, count in clusters for _ in range(count)]
    for number, offset, mean in zip(row, offsets, means, strict=True):
        items[number].x = mean + offset


def _offsets(row: Sequence[int], items: Sequence[_Item], gaps: Gaps) -> list[float]:
    """Return the middles of a row's items when packed as closely as allowed."""
    offsets, right = [], 0.0
    for number in row:
        half = items[number].width / 2
        offsets.append(right + half)
        right += 2 * half + gaps.boxes
    return offsets


def _heights(
    picture: Picture, sizes: Sequence[Size], gaps: Gaps
) -> tuple[list[float], list[float]]:
    tops, bottoms, y = [], [], 0.0
    for level in picture.levels:
        tops.append(y)
        y += max(sizes[place].height for place in level)
        bottoms.append(y)
        y += gaps.rows
    return tops, bottoms


def _path(
    route: Sequence[int],
    items: Sequence[_Item],
    sizes: Sequence[Size],
    tops: Sequence[float],
    bottoms: Sequence[float],
) -> list[tuple[float, float]]:
    """Return the start of an arrow, where it enters and leaves each row, and its end."""
    first, *crossed, last = (items[number] for number in route)

    def middle(item: _Item) -> float:
        return (tops[item.row] + bottoms[item.row]) / 2

    path = [(first.x, middle(first) + sizes[route[0]].height / 2)]
    for item in crossed:
        path += [(item.x, tops[item.row]), (item.x, bottoms[item.row])]
    path.append((last.x, middle(last) - sizes[route[-1]].height / 2))
    return path
