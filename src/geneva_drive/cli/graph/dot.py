"""A picture in DOT, for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from geneva_drive.cli.graph.colours import COLOURS, PLAIN
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.graph.picture import Box, Picture, one_line

_SHAPES = {
    NodeKind.DECISION: ' shape="diamond"',
    NodeKind.APPROVAL: ' shape="hexagon"',
    NodeKind.CHILD: ' shape="box" peripheries="2"',
    NodeKind.RESUMABLE: ' shape="box" style="filled,rounded"',
}
# Quoted text may contain escapes such as \\N, and HTML entities.
_ESCAPES = {ord("\\"): "\\\\", ord('"'): '\\"', ord("&"): "&amp;"}


def write(picture: Picture) -> str:
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    yield f"digraph {_quoted(picture.title)} {{"
    yield '    node [shape="box" style="filled" fontname="Helvetica"]'
    for box in picture.boxes:
        colours = COLOURS[box.state] if box.state else PLAIN
        yield (
            f"    {box.key} [label={_quoted(box.name, *box.notes)}{_SHAPES.get(box.kind, '')}"
            f'{_tip(box)} fillcolor="{colours.fill}" color="{colours.stroke}" '
            f'fontcolor="{colours.text}"]'
        )
    for parent, place in picture.arrows:
        style = ' [style="dotted"]' if (parent, place) in picture.untaken else ""
        yield f"    {picture.boxes[parent].key} -> {picture.boxes[place].key}{style}"
    yield "}"


def _tip(box: Box) -> str:
    return f' tooltip="{box.state}"' if box.state else ""


def _quoted(*lines: str) -> str:
    escaped = (one_line(line).translate(_ESCAPES) for line in lines)
    return '"' + "\\n".join(escaped) + '"'
