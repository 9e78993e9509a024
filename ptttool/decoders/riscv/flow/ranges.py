"""Ranges of instructions as fields of elements, with the names of functions and lines of source."""

from __future__ import annotations

import numpy as np

from ptttool.decoders.element_batch import I64, NO_BYTES, U8, Array, Elements, Strings
from ptttool.decoders.elements import INSTRUCTION_SUBTYPES, INSTRUCTION_TYPES, ISAS
from ptttool.decoders.riscv.elf import Program
from ptttool.decoders.riscv.flow.walk import Range, Walker


class Table:
    """What elements say of ranges, by their numbers: arrays that grow as ranges are met."""

    def __init__(self, program: Program, walker: Walker) -> None:
        self._program, self._walker = program, walker
        self._text = bytearray()
        self._letters: U8 = NO_BYTES  # the same, as an array
        self._numbers: Array = np.zeros((0, 10), dtype=np.int64)
        self._addresses: Array = np.zeros((0, 2), dtype=np.uint64)

    def put(self, batch: Elements, rows: I64, numbers: I64) -> None:
        """Fields of the ranges ``numbers`` into elements."""
        self._grow()
        st_addr, en_addr = self._addresses[numbers].T
        count, kind, subtype, taken, size, conditional, *texts = self._numbers[numbers].T
        isa = ISAS.index("rv64" if self._program.bits64 else "rv32")
        batch.put("isa", np.full(len(rows), isa), rows)
        values = {
            "st_addr": st_addr, "en_addr": en_addr, "num_instr_range": count, "last_i_type": kind, "last_i_subtype": subtype,
            "last_instr_exec": taken, "last_instr_sz": size, "last_instr_cond": conditional,
        }  # fmt: skip
        for name, each in values.items():
            batch.put(name, each, rows)
        for name, start, length in (("symbol", *texts[:2]), ("source", *texts[2:])):
            batch.put(name, Strings(self._letters, start, length), rows)

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
            INSTRUCTION_TYPES.index(each.kind),
            INSTRUCTION_SUBTYPES.index(each.subtype),
            each.jumped or not each.conditional,
            each.end - each.last,
            each.conditional,
            *self._place(self._program.symbol(each.start)),
            *self._place(self._program.line(each.start)),
        )

    def _place(self, text: str | None) -> tuple[int, int]:
        """Where a text lies; a negative start for none."""
        if text is None:
            return -1, 0
        encoded = text.encode()
        self._text += encoded
        return len(self._text) - len(encoded), len(encoded)
