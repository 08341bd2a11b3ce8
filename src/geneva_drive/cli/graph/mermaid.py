"""A picture in Mermaid, which GitHub, GitLab and many wikis draw."""

from __future__ import annotations

from collections.abc import Iterator

from geneva_drive.cli.graph.colours import COLOURS
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.graph.picture import Box, Picture, one_line

_SHAPES = {
    NodeKind.DECISION: ('{"', '"}'),
    NodeKind.APPROVAL: ('{{"', '"}}'),
    NodeKind.CHILD: ('[["', '"]]'),
    NodeKind.RESUMABLE: ('(["', '"])'),
}
_PLAIN = ('["', '"]')
# Characters that would start or end a label, Markdown or a directive.
_CODES = {ord(c): f"#{ord(c)};" for c in '"#&<>`%;\\'}


def write(picture: Picture) -> str:
    return "\n".join(_lines(picture)) + "\n"


def _lines(picture: Picture) -> Iterator[str]:
    yield "graph TD"
    for box in picture.boxes:
        begin, end = _SHAPES.get(box.kind, _PLAIN)
        yield f"    {box.key}{begin}{_label(box)}{end}{_class(box)}"
    for parent, place in picture.arrows:
        arrow = "-.->" if (parent, place) in picture.untaken else "-->"
        yield f"    {picture.boxes[parent].key} {arrow} {picture.boxes[place].key}"
    for state in sorted({box.state for box in picture.boxes if box.state}):
        fill, stroke, text = COLOURS[state]
        yield f"    classDef {state} fill:{fill},stroke:{stroke},color:{text}"


def _label(box: Box) -> str:
    return "<br/>".join(one_line(text).translate(_CODES) for text in (box.name, *box.notes))


def _class(box: Box) -> str:
    return f":::{box.state}" if box.state else ""
