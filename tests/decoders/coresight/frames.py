"""Builds CoreSight frames, slowly and literally: what the deformatter is tested with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

FSYNC, HSYNC = b"\xff\xff\xff\x7f", b"\xff\x7f"


def frames(chunks: Iterable[tuple[int, bytes]], *, current: int | None = None, delay: bool = True) -> bytes:
    """Frames of ``(ID, bytes)``, filled up with ID 0. ``delay``: whether an ID may come one byte early, as from formatters."""
    pending = [(number, value) for number, data in chunks for value in data]
    out = bytearray()
    while pending:
        frame, low = bytearray(), 0
        while len(frame) < 15:
            number, value = pending[0] if pending else (0, 0)
            even = len(frame) % 2 == 0
            if even and number != current:
                frame.append(number << 1 | 1)
                current = number
                continue
            following = pending[1][0] if len(pending) > 1 else 0
            if even and delay and len(frame) < 14 and following != number and pending:
                # The ID comes first, and the last byte of the old one behind it.
                low |= 1 << len(frame) // 2
                frame += bytes([following << 1 | 1, value])
                current = following
            elif even and pending and following != number and len(frame) < 14:
                frame.append(number << 1 | 1)  # once more, so that the next byte is an even one
                continue
            elif even:
                low |= (value & 1) << len(frame) // 2
                frame.append(value & 0xFE)
            elif number == current:
                frame.append(value)
            else:
                raise AssertionError("an odd byte of another source: no ID can stand here")
            if pending:
                pending.pop(0)
        out += frame + bytes([low])
    return bytes(out)


def taken_apart(data: bytes, current: int | None = None) -> list[tuple[int, int | None, int]]:
    """Every data byte of memory-aligned frames as (offset, ID, value), by the plain reading of the format."""
    found = []
    for at in range(0, len(data) // 16 * 16, 16):
        frame, flags = data[at : at + 16], data[at + 15]
        owners = [current]
        for place in range(15):
            value, bit = frame[place], flags >> place // 2 & 1
            if place % 2:
                found.append((at + place, owners.pop(), value))
            elif value & 1:
                old, current = current, value >> 1
                owners = [old if bit else current]
            else:
                found.append((at + place, current, value | bit))
                owners = [current]
            if not owners:
                owners = [current]
    return found


def with_syncs(data: bytes, halves: Sequence[int], every: int) -> tuple[bytes, list[tuple[int, int]]]:
    """A trace port's stream of frames: an FSYNC before every ``every``-th frame, an HSYNC before each halfword of ``halves``.

    Returns the stream and where each FSYNC begins and ends.
    """
    out, syncs = bytearray(), []
    for half in range(len(data) // 2):
        if half % (8 * every) == 0:
            syncs.append((len(out), len(out) + 4))
            out += FSYNC
        if half in halves:
            out += HSYNC
        out += data[2 * half : 2 * half + 2]
    return bytes(out), syncs
