"""Bits of RISC-V E-Trace packets: what the first byte says about a packet, and fields at varying positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptttool.decoders.elements.arrays import I64, U8, U64, Array
from ptttool.decoders.elements.model import ADDR, BRANCH_MAP, CUSTOM, UNKNOWN
from ptttool.decoders.packets import field as bits
from ptttool.decoders.riscv.etrace.setup import EtraceSettings

OPTIONAL, BRANCHES, ADDRESS, SYNC = range(4)  # formats


def map_size(branches: int, *, old: bool) -> int:
    """Return the bits of a branch map with so many branches (1 to 31)."""
    return next(size for size in ((1, 9, 17, 25, 31) if old else (1, 3, 7, 15, 31)) if branches <= size)


class Tables:
    """What the first byte of a payload says about its packet, for each of the 256 values; it says everything about formats 1 and 2.

    Parameters
    ----------
    settings : EtraceSettings
        Parameters of the encoder.

    Attributes
    ----------
    position : ndarray of uint64
        Bit at which the address begins; 0 where there is none.
    need : ndarray of int64
        Bits of the packet.
    kind : ndarray of uint8
        Kind of its element.
    shift, mask : ndarray of uint64
        Position and mask of the branch map; the mask is 0 where there is none.
    sizes : ndarray of uint64
        Bits of a branch map, by its branches.
    """

    def __init__(self, settings: EtraceSettings) -> None:
        rest = settings.address_bits + settings.tail_bits
        self.position: U64 = np.zeros(256, dtype=np.uint64)
        self.need: I64 = np.zeros(256, dtype=np.int64)
        self.kind: U8 = np.full(256, UNKNOWN, dtype=np.uint8)
        self.shift: U64 = np.full(256, 7, dtype=np.uint64)
        self.mask: U64 = np.zeros(256, dtype=np.uint64)
        self.sizes = np.array([0, *(map_size(branches, old=settings.old) for branches in range(1, 32))], dtype=np.uint64)
        for byte in range(256):
            branches = byte >> 2 & 31
            size = 31 if not branches else int(self.sizes[branches])
            if byte & 3 == ADDRESS:
                self.kind[byte], self.position[byte], self.need[byte] = ADDR, 2, 2 + rest
            elif byte & 3 == BRANCHES:
                self.kind[byte], self.mask[byte] = BRANCH_MAP, (1 << size) - 1
                self.need[byte] = 7 + size
                if branches:
                    self.position[byte], self.need[byte] = 7 + size, 7 + size + rest
                elif settings.old:  # one more bit selects a map, or a count and no_mispred
                    self.shift[byte], self.need[byte] = 8, 39
                    if byte >> 7:
                        self.kind[byte], self.mask[byte], self.need[byte] = CUSTOM, 0, 25


def shifted(words: list[U64], position: U64, count: int) -> list[U64]:
    """Return payloads from bit `position` (1 to 63, one for each payload) on, as `count` words."""
    rest = np.uint64(64) - position
    return [(words[number] >> position) | (words[number + 1] << rest) for number in range(count)]


def cut(words: list[U64], layout: list[tuple[str, int]]) -> tuple[dict[str, Array], int]:
    """Return the fields behind format and subformat, one after the other, and the bits of all. Fields without bits are absent."""
    fields: dict[str, Array] = {}
    at = 4
    for name, width in layout:
        if width:
            fields[name] = bits(words, at, width)
            at += width
    return fields, at


def bit_of(options: U64 | int, bit: int) -> Any:
    """Whether a bit of options is set: for each of them, or for all; a negative bit never is."""
    if bit < 0:
        return False
    if isinstance(options, int):
        return bool(options >> bit & 1)
    return (options >> np.uint64(bit) & np.uint64(1)) == 1


def merged(some: tuple[I64, Array], others: tuple[I64, Array]) -> tuple[I64, Array]:
    """Merge rows and their values, in the order of rows."""
    if not len(some[0]):
        return others
    rows, values = np.concatenate([some[0], others[0]]), np.concatenate([some[1], others[1]])
    order = np.argsort(rows, kind="stable")
    return rows[order], values[order]
