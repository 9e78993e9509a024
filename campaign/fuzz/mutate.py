"""Mutations of bytes, for the engine of our own."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

_NUMBERS = (0, 1, 2, 7, 8, 16, 32, 63, 64, 100, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_WIDE = (*_NUMBERS, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
_FORMATS = ("<B", "<H", "<I", "<Q", ">H", ">I", ">Q")
_TEXTS = (b"\n", b"-1", b"1e999", b"9" * 30, b"0x", b"../", b"%s", b'"', b"'", b"=", b"[", b"{")
_WORDS = (*_TEXTS, b"\x00", b"\xff", b"\x1b[31m", b"\xe2\x80\xae")


def mutated(random: random.Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes], most: int) -> bytes:
    """Change an input in one to eight places.

    Parameters
    ----------
    random : random.Random
        Chooses.
    data : bytes
        The input.
    others : Sequence of bytes
        Inputs to take pieces from.
    words : Sequence of bytes
        Pieces that mean something to the reader.
    most : int
        Largest size of the result.
    """
    result = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 3, 5, 8))):
        _change(random, result, others, words)
        if len(result) > most:
            del result[most:]
    return bytes(result)


def _change(random: random.Random, data: bytearray, others: Sequence[bytes], words: Sequence[bytes]) -> None:
    at = random.randrange(len(data) + 1)
    match random.randrange(10):
        case 0 if data:
            at = random.randrange(len(data))
            data[at] ^= 1 << random.randrange(8)
        case 1 if data:
            data[random.randrange(len(data))] = random.randrange(256)
        case 2 | 3:  # a number
            form = random.choice(_FORMATS)
            size = struct.calcsize(form)
            number = random.choice(_WIDE) & ((1 << (8 * size)) - 1)
            at -= at % random.choice((1, size))
            data[at : at + size] = struct.pack(form, number)
        case 4 if data:  # remove
            del data[at : at + random.choice((1, 4, 8, 16, random.randrange(len(data)) + 1))]
        case 5 if data:  # repeat
            piece = data[at : at + random.choice((1, 8, 16, 64, 256))]
            data[at:at] = piece * random.choice((1, 2, 16, 200))
        case 6 if others:  # a piece of another input
            other = random.choice(others)
            start = random.randrange(len(other) + 1)
            data[at : at + random.choice((0, 8, 64))] = other[start : start + random.choice((8, 32, 128, 1024))]
        case 7:
            data[at:at] = random.choice(words) if words and random.random() < 0.7 else random.choice(_WORDS)
        case 8 if words:
            word = random.choice(words)
            data[at : at + len(word)] = word
        case _:  # cut
            del data[at:]
