"""Where the boxes and arrows of a picture stand."""

from __future__ import annotations

from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.graph.layout import Size, lay_out
from geneva_drive.drive.graph.picture import Box, Picture


def _picture(levels: tuple[tuple[int, ...], ...], *arrows: tuple[int, int]) -> Picture:
    boxes = tuple(
        Box(key=f"n{place}", name="", notes=(), kind=NodeKind.TASK, state=None)
        for level in levels
        for place in level
    )
    return Picture(title="", boxes=boxes, arrows=arrows, levels=levels)


def test_boxes_of_a_row_stand_side_by_side_beneath_what_they_wait_for() -> None:
    picture = _picture(((0,), (1, 2)), (0, 1), (0, 2))

    layout = lay_out(picture, [Size(100, 40)] * 3)

    assert layout.middles == [(114, 20), (50, 116), (178, 116)]
    assert (layout.width, layout.height) == (228, 136)


def test_an_arrow_over_several_rows_goes_beside_the_boxes_between() -> None:
    picture = _picture(((0,), (1,), (2,)), (0, 1), (1, 2), (0, 2))

    layout = lay_out(picture, [Size(100, 40)] * 3)

    [(_, beginning), (x, enters), (_, leaves), (_, end)] = layout.paths[2]
    assert (beginning, enters, leaves, end) == (40, 96, 136, 192)
    assert abs(x - layout.middles[1][0]) > 50


def test_rows_are_ordered_so_that_arrows_do_not_cross() -> None:
    picture = _picture(((0, 1), (2, 3)), (0, 3), (1, 2))

    layout = lay_out(picture, [Size(100, 40)] * 4)

    assert layout.middles[2][0] > layout.middles[3][0]
