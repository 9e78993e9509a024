"""Ranges of instructions as fields of elements, with the names of functions and lines of source."""

from __future__ import annotations

import numpy as np

from ptttool.decoders.elements.arrays import I64, NO_BYTES, U8, Array, Elements, Strings
from ptttool.decoders.elements.model import ISAS, InstructionSubtype, InstructionType, names_of
from ptttool.decoders.riscv.elf import Program
from ptttool.decoders.riscv.flow.walk import Range, Walker

_TYPES, _SUBTYPES = names_of(InstructionType), names_of(InstructionSubtype)


class RangeTable:
    """Fields of ranges by their numbers: arrays that grow when the walker finds more.

    Parameters
    ----------
    program : Program
        The program, for the names of functions and lines of source.
    walker : Walker
        What finds ranges.
    """

    def __init__(self, program: Program, walker: Walker) -> None:
        self._program, self._walker = program, walker
        self._text = bytearray()
        self._letters: U8 = NO_BYTES  # the same, as an array
        self._numbers: Array = np.zeros((0, 10), dtype=np.int64)
        self._addresses: Array = np.zeros((0, 2), dtype=np.uint64)

    def put(self, elements: Elements, rows: I64, numbers: I64) -> None:
        """Put the fields of the ranges `numbers` into the elements `rows`."""
        self._grow()
        st_addr, en_addr = self._addresses[numbers].T
        count, kind, subtype, taken, size, conditional, *texts = self._numbers[numbers].T
        isa = ISAS.index("rv64" if self._program.bits64 else "rv32")
        elements.put("isa", np.full(len(rows), isa), rows)
        values = {
            "st_addr": st_addr, "en_addr": en_addr, "num_instr_range": count, "last_i_type": kind, "last_i_subtype": subtype,
            "last_instr_exec": taken, "last_instr_sz": size, "last_instr_cond": conditional,
        }  # fmt: skip
        for name, each in values.items():
            elements.put(name, each, rows)
        for name, start, length in (("symbol", *texts[:2]), ("source", *texts[2:])):
            elements.put(name, Strings(self._letters, start, length), rows)

    def _grow(self) -> None:
        done = len(self._numbers)
        more = self._walker.ranges[done:]
        if not more:
            return
        self._addresses = np.concatenate([self._addresses, np.array([(each.start, each.end) for each in more], dtype=np.uint64)])
        self._numbers = np.concatenate([self._numbers, np.array([self._row(each) for each in more], dtype=np.int64)])
        self._letters = np.frombuffer(bytes(self._text), dtype=np.uint8)

    def _row(self, each: Range) -> tuple[int, ...]:
        return (
            each.count,
            _TYPES.index(each.type),
            _SUBTYPES.index(each.subtype),
            each.jumped or not each.conditional,
            each.end - each.last,
            each.conditional,
            *self._text_at(self._program.symbol(each.start)),
            *self._text_at(self._program.line(each.start)),
        )

    def _text_at(self, text: str | None) -> tuple[int, int]:
        """Add a text and return its position and length; the position of an absent one is negative."""
        if text is None:
            return -1, 0
        encoded = text.encode()
        self._text += encoded
        return len(self._text) - len(encoded), len(encoded)
