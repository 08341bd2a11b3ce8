"""The contrast of the stylesheet's colours, computed anew, and the tokens of the design."""

from __future__ import annotations

import re

import pytest

from geneva_drive.web.dashboard.shell.static_files import FILES

SHEET = FILES["dashboard.css"].decode()
TOKENS = {
    name: (light, dark)
    for name, light, dark in re.findall(
        r"--([\w-]+): light-dark\((#[0-9A-F]{6}), (#[0-9A-F]{6})\)", SHEET
    )
}
HUES = ("moving", "person", "rest", "held", "failed", "done", "quiet")
SURFACES = ("bg", "side", "sunk", "raised", "panel", "hover", "sel")
THEMES = {"light": 0, "dark": 1}
LEAST = {"light": 4.6, "dark": 5.3}
# Labels stand on the grey of a hovered or selected row, and still above what WCAG asks for.
SOFTER = {("ink-3", "sel"), ("quiet", "sel"), ("quiet", "hover"), ("ink-3", "hover")}


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def pairs() -> list[tuple[str, str]]:
    texts = ("ink", "ink-2", "ink-3", *HUES)
    return [
        *((text, surface) for text in texts for surface in SURFACES),
        *((hue, f"{hue}-tint") for hue in HUES),
        *(("ink", f"{hue}-tint") for hue in HUES),
        ("inv", "ink"),
        ("inv", "failed"),
    ]


@pytest.mark.parametrize("theme", THEMES)
def test_every_word_can_be_read_on_every_surface(theme: str) -> None:
    place = THEMES[theme]

    low = {
        pair: round(contrast(TOKENS[pair[0]][place], TOKENS[pair[1]][place]), 2) for pair in pairs()
    }

    assert {k: v for k, v in low.items() if v < (4.5 if k in SOFTER else LEAST[theme])} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_edges_of_fields_can_be_seen(theme: str) -> None:
    place = THEMES[theme]

    ratios = [
        contrast(TOKENS["ctl"][place], TOKENS[one][place]) for one in ("bg", "raised", "sunk")
    ]

    assert min(ratios) >= 3.1


def test_no_colour_stands_beside_the_tokens() -> None:
    rules = re.sub(r"--[\w-]+: light-dark\([^)]*\);", "", SHEET)

    assert re.findall(r"#[0-9A-Fa-f]{3,8}\b(?!\w)(?=[;, )])", rules) == []
