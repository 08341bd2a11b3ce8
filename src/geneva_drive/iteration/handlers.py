"""Which `except`, `finally` and `with` blocks of a function an error goes through on its way out.

Python keeps this in a table with each function: from which instructions an error goes to which
block. A block that catches it begins with PUSH_EXC_INFO, and is itself watched by a short one that
tidies up and raises again, so all that the block encloses leads there.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType

_CATCHES = dis.opmap["PUSH_EXC_INFO"]
_SEND, _YIELD, _RESUME = (dis.opmap[name] for name in ("SEND", "YIELD_VALUE", "RESUME"))


def _known(*names: str) -> set[int]:
    return {dis.opmap[name] for name in names if name in dis.opmap}  # which differ by version


# What compilers put behind comprehensions and awaits has no block: it raises again further on.
_RAISES_AGAIN = _known("RERAISE", "CLEANUP_THROW")
_BREAKS = _known("POP_TOP", "POP_ITER")
_AWAITS = _known("YIELD_VALUE", "RESUME", "JUMP_BACKWARD_NO_INTERRUPT", "CACHE")


def leads_to(code: CodeType, raised: int, place: int) -> bool:
    """Say whether an error raised at one instruction is raised, or handled, at another."""
    if _awaited_at(code, raised) == _awaited_at(code, place):
        return True
    table = list(_entries(code))
    if not table or code.co_code[place] in _BREAKS:  # which leaves a loop and raises nothing
        return False
    from_place = list(_blocks(table, place))
    return any(
        block not in from_place and _holds(code, table, block, place, from_place)
        for block in _blocks(table, _thrown_in_at(code, raised))
    )


def _awaited_at(code: CodeType, place: int) -> int:
    """Give the first instruction of an `await`, for whichever of them it stands at.

    An error that is thrown in from inside passes by the one at which its function was waiting.
    """
    instructions = code.co_code
    at = place
    while at and instructions[at] in _AWAITS:
        at -= 2
    return at if instructions[at] == _SEND else place


def _thrown_in_at(code: CodeType, raised: int) -> int:
    """Give the `yield` for the instruction behind it, at which Python 3.13 says that it stood."""
    instructions = code.co_code
    was_waiting = raised and instructions[raised] == _RESUME and instructions[raised - 2] == _YIELD
    return raised - 2 if was_waiting else raised


_Table = list[tuple[int, int, int]]


def _entries(code: CodeType) -> Iterator[tuple[int, int, int]]:
    """Read the table: from where to where (which is behind it) an error goes to which block.

    Numbers are of instructions, of two bytes each, in digits of six bits; the fourth of each entry,
    how deep the stack is kept, does not matter here.
    """
    digits = iter(code.co_exceptiontable)
    while (number := _number(digits)) is not None:
        start, length, block, _ = number, *(_number(digits) or 0 for _ in range(3))
        yield start * 2, (start + length) * 2, block * 2


def _number(digits: Iterator[int]) -> int | None:
    number = 0
    for digit in digits:
        number = number << 6 | digit & 0x3F
        if not digit & 0x40:
            return number
    return None


def _blocks(table: _Table, place: int) -> Iterator[int]:
    """Give the blocks that an error goes through from an instruction, from inside out."""
    seen: set[int] = set()
    block = _block_of(table, place)
    while block is not None and block not in seen:
        yield block
        seen.add(block)
        block = _block_of(table, block)


def _block_of(table: _Table, place: int) -> int | None:
    return next((block for start, end, block in table if start <= place < end), None)


def _holds(code: CodeType, table: _Table, block: int, place: int, from_place: list[int]) -> bool:
    instructions = code.co_code
    if instructions[block] == _CATCHES:
        return _block_of(table, block) in from_place
    again = next(
        (at for at in range(block, len(instructions), 2) if instructions[at] in _RAISES_AGAIN), -1
    )
    return block <= place <= again
