"""Error messages without the values that differ from one failure to the next."""

from __future__ import annotations

import re

LONGEST = 300  # characters of a message that are compared

# Quoted values first: what they hold is replaced as a whole.
_PARTS = re.compile(
    r"""
    (?P<quoted> "(?:[^"\\\n]|\\.){0,200}" | (?<!\w)'(?:[^'\\\n]|\\.){0,200}'(?!\w)
              | `[^`\n]{0,200}` )
    | (?P<id> \b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b )
    | (?P<hex> \b0x[0-9a-fA-F]+\b | \b(?=[a-fA-F]*[0-9])[0-9a-fA-F]{8,}\b )
    | (?P<token> \b(?=\w{6})[a-zA-Z_]*\d+[a-zA-Z]+\d\w*\b )
    | (?P<number> (?<!\w)\d+(?:[.,:\-/T]\d+)*Z? )
    """,
    re.VERBOSE,
)


def normalised(message: str | None) -> str:
    """Return the first line of a message with values replaced by their kind, such as <number>.

    >>> normalised("Order 'A-17' has 3 items; see 0xdeadbeef")
    'Order <quoted> has <number> items; see <hex>'
    """
    # Cut the text before matching, so that a huge message costs no more than a long one.
    line = (message or "").strip()[: 2 * LONGEST].partition("\n")[0]
    return _PARTS.sub(lambda found: f"<{found.lastgroup}>", line)[:LONGEST]
