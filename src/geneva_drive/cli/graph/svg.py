"""A picture in SVG, with the states in colour and a legend."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from html import escape

from geneva_drive.cli.graph.colours import COLOURS, PLAIN, Colours
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.graph.layout import Layout, Size, lay_out
from geneva_drive.drive.graph.picture import Box, Picture, one_line
from geneva_drive.drive.graph.state_counts import done_first, word_for
from geneva_drive.states import StepState

_MARGIN = 24.0
_HEADING = 44.0
_LEGEND = 46.0
_NAME_WIDTH = 8.0  # an average letter
_NOTE_WIDTH = 6.4
_SWATCH = 12.0
_LONGEST = 44
_SHAPES = {
    NodeKind.DECISION: "decision",
    NodeKind.APPROVAL: "approval",
    NodeKind.CHILD: "child workflow",
    NodeKind.RESUMABLE: "resumable step",
}
_HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#868e96"/></marker></defs>'
)


def write(picture: Picture) -> str:
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    layout = lay_out(picture, [_size(box) for box in picture.boxes])
    legend = list(_legend(picture))
    legend_width = sum(44 + _width(word, _NOTE_WIDTH) for word, _ in legend)
    inner = max(layout.width, legend_width, _width(picture.title, _NAME_WIDTH * 1.2))
    width, height = inner + 2 * _MARGIN, layout.height + _HEADING + _LEGEND + 2 * _MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif">'
    )
    yield _HEAD
    yield f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>'
    yield _text(_MARGIN, _MARGIN + 14, picture.title, size=16, weight="bold", anchor="start")
    left = _MARGIN + (inner - layout.width) / 2
    yield f'<g transform="translate({left:.1f} {_MARGIN + _HEADING:.1f})">'
    for arrow, path in zip(picture.arrows, layout.paths, strict=True):
        yield _arrow(path, is_dotted=arrow in picture.untaken)
    yield from _boxes(picture, layout)
    yield "</g>"
    yield from _drawn_legend(legend, height - _MARGIN - _SWATCH)
    yield "</svg>"


def _boxes(picture: Picture, layout: Layout) -> Iterator[str]:
    for box, (x, y) in zip(picture.boxes, layout.middles, strict=True):
        yield "<g>"
        yield f"<title>{_escaped(_tooltip(box))}</title>"
        yield from _shape(box, x, y, _size(box))
        lines = [(box.name, 13, "600"), *((note, 11, "normal") for note in box.notes)]
        baseline = y + 4.5 - 8.5 * (len(lines) - 1) - (4 if box.counts else 0)
        colours = _colours(box.state)
        for place, (line, size, weight) in enumerate(lines):
            yield _text(
                x, baseline + 17 * place, _short(line), size=size, weight=weight, fill=colours.text
            )
        yield "</g>"


def _tooltip(box: Box) -> str:
    state = [word_for(box.state)] if box.state and not box.is_folded else []
    return ", ".join((box.name, *state, *box.notes))


def _shape(box: Box, x: float, y: float, size: Size) -> Iterator[str]:
    colours = _colours(box.state)
    left, top = x - size.width / 2, y - size.height / 2
    dashes = ' stroke-dasharray="5 3"' if box.state is StepState.SKIPPED else ""
    paint = f'fill="{colours.fill}" stroke="{colours.stroke}" stroke-width="1.4"{dashes}'
    if corners := _corners(box.kind, x, y, size):
        points = " ".join(f"{corner_x:.1f},{corner_y:.1f}" for corner_x, corner_y in corners)
        yield f'<polygon points="{points}" {paint}/>'
        return
    if box.is_folded:
        for behind in (6, 3):
            yield _rectangle(left + behind, top + behind, size, 5, paint)
    radius = size.height / 2 if box.kind is NodeKind.RESUMABLE else min(5.0, size.height / 6)
    yield _rectangle(left, top, size, radius, paint)
    if box.kind is NodeKind.CHILD:
        for edge in (left + 7, left + size.width - 7):
            yield (
                f'<path d="M{edge:.1f} {top:.1f} v{size.height:.1f}" stroke="{colours.stroke}" '
                f'stroke-width="1.4"/>'
            )
    if box.counts:
        yield from _shares(box, left + 12, top + size.height - 11, size.width - 24)


def _corners(kind: NodeKind, x: float, y: float, size: Size) -> list[tuple[float, float]]:
    """Return the corners of a diamond or a hexagon; none for a rectangle."""
    left, right = x - size.width / 2, x + size.width / 2
    top, bottom = y - size.height / 2, y + size.height / 2
    if kind is NodeKind.DECISION:
        return [(left, y), (x, top), (right, y), (x, bottom)]
    if kind is NodeKind.APPROVAL:
        slope = size.height / 3
        upper = [(left + slope, top), (right - slope, top)]
        lower = [(right - slope, bottom), (left + slope, bottom)]
        return [(left, y), *upper, (right, y), *lower]
    return []


def _shares(box: Box, left: float, top: float, width: float) -> Iterator[str]:
    """Draw a bar with the share of each state in a group."""
    # One failed node among thousands must stay visible.
    least = max(1, sum(box.counts.values()) // 60)
    seen = [(state, max(count, least)) for state, count in done_first(box.counts)]
    total = sum(count for _, count in seen)
    for state, count in seen:
        part = width * count / total
        colours = COLOURS[state]
        fill = colours.fill if state is StepState.SKIPPED else colours.stroke
        yield (f'<rect x="{left:.1f}" y="{top:.1f}" width="{part:.1f}" height="5" fill="{fill}"/>')
        left += part


def _rectangle(left: float, top: float, size: Size, radius: float, paint: str) -> str:
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{size.width:.1f}" height="{size.height:.1f}" '
        f'rx="{radius:.1f}" {paint}/>'
    )


def _arrow(path: Sequence[tuple[float, float]], *, is_dotted: bool) -> str:
    (x, y), *rest = path
    drawn = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        half = (y + to_y) / 2
        drawn.append(
            f"L{to_x:.1f} {to_y:.1f}"
            if x == to_x
            else f"C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}"
        )
        x, y = to_x, to_y
    dots = ' stroke-dasharray="1.5 3"' if is_dotted else ""
    return (
        f'<path d="{" ".join(drawn)}" fill="none" stroke="#868e96" stroke-width="1.3"{dots} '
        f'marker-end="url(#head)"/>'
    )


def _legend(picture: Picture) -> Iterator[tuple[str, StepState | NodeKind]]:
    there = {box.state for box in picture.boxes} | {s for box in picture.boxes for s in box.counts}
    for state in COLOURS:
        if state in there:
            yield word_for(state), state
    kinds = {box.kind for box in picture.boxes}
    for kind, word in _SHAPES.items():
        if kind in kinds:
            yield word, kind


def _drawn_legend(legend: Sequence[tuple[str, StepState | NodeKind]], top: float) -> Iterator[str]:
    x = _MARGIN
    for word, meant in legend:
        kind = meant if isinstance(meant, NodeKind) else NodeKind.STEP
        state = meant if isinstance(meant, StepState) else None
        sample = Box(key="", name="", notes=(), kind=kind, state=state)
        size = Size(_SWATCH + 6, _SWATCH) if state is None else Size(_SWATCH, _SWATCH)
        yield from _shape(sample, x + size.width / 2, top + _SWATCH / 2, size)
        yield _text(x + size.width + 6, top + _SWATCH - 2, word, size=11, anchor="start")
        x += size.width + 22 + _width(word, _NOTE_WIDTH)


def _colours(state: StepState | None) -> Colours:
    return COLOURS[state] if state else PLAIN


def _size(box: Box) -> Size:
    widest = max(
        _width(_short(box.name), _NAME_WIDTH),
        max((_width(_short(note), _NOTE_WIDTH) for note in box.notes), default=0.0),
    )
    height = 36.0 + 16 * len(box.notes) + (10 if box.counts else 0)
    if box.kind is NodeKind.DECISION:
        return Size(widest * 1.5 + 48, height * 1.5)
    room = {NodeKind.CHILD: 12.0, NodeKind.APPROVAL: height / 1.5}.get(box.kind, 0.0)
    return Size(max(widest + 28, 90.0) + room, height)


def _short(line: str) -> str:
    shown = one_line(line)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"


def _width(line: str, letter: float) -> float:
    return sum(letter * (1.8 if unicodedata.east_asian_width(c) in "WF" else 1) for c in line)


def _text(
    x: float,
    y: float,
    line: str,
    *,
    size: int,
    weight: str = "normal",
    anchor: str = "middle",
    fill: str = PLAIN.text,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{fill}">{_escaped(line)}</text>'
    )


def _escaped(line: str) -> str:
    return escape(one_line(line), quote=True)
