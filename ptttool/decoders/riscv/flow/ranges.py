"""Ranges of instructions, and their fields in elements, with the names of functions and lines of source."""

from __future__ import annotations

import numpy as np

from ptttool.decoders.elements.arrays import I64, NO_BYTES, U8, Array, Elements, Strings
from ptttool.decoders.elements.model import INSTRUCTION_SUBTYPES, INSTRUCTION_TYPES, ISAS
from ptttool.decoders.riscv.elf import Program
from ptttool.decoders.riscv.flow.code import Block, Exit


class Ranges:
    """Ranges of instructions executed one after the other. A range is named by a number; equal ones have the same.

    Parameters
    ----------
    program : Program
        The program, for the names of functions and lines of source.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._numbers: dict[tuple[int, int, bool, bool], int] = {}  # by start, end, taken and whether the block ends there
        # Start and end; the other fields; those of ranges that are not in these arrays yet. Texts: position and length in the letters.
        self._addresses: Array = np.zeros((0, 2), dtype=np.uint64)
        self._fields: Array = np.zeros((0, 10), dtype=np.int64)
        self._fresh: list[tuple[int, ...]] = []
        self._text = bytearray()
        self._letters: U8 = NO_BYTES  # the same, as an array

    def __len__(self) -> int:
        return len(self._numbers)

    def whole(self, block: Block, start: int, *, taken: bool) -> int:
        """Return the range from `start` to the end of a block; `taken`: the last instruction did not go to the one behind."""
        key = (start, block.end, taken, True)
        if key in self._numbers:
            return self._numbers[key]
        conditional = block.exit == Exit.BRANCH
        count = len(block.addresses) - block.addresses.index(start)
        kind, subtype = _types_of(block)
        codes = INSTRUCTION_TYPES.index(kind), INSTRUCTION_SUBTYPES.index(subtype)
        return self._add(key, (count, *codes, taken or not conditional, block.size, conditional))

    def part(self, block: Block, start: int, last: int, end: int) -> int:
        """Return a range that ends before its block does, or at a branch without an outcome; `last`: address of its last instruction."""
        count = block.addresses.index(last) - block.addresses.index(start) + 1
        return self._add((start, end, False, False), (count, 0, 0, True, end - last, False))

    def _add(self, key: tuple[int, int, bool, bool], fields: tuple[int, ...]) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers)
            self._fresh.append((*key[:2], *fields))
        return self._numbers[key]

    def put(self, elements: Elements, rows: I64, numbers: I64) -> None:
        """Put the fields of the ranges `numbers` into the elements `rows`."""
        self._grow()
        st_addr, en_addr = self._addresses[numbers].T
        count, kind, subtype, taken, size, conditional, *texts = self._fields[numbers].T
        isa = ISAS.index("rv64" if self._program.bits64 else "rv32")
        values = {
            "isa": np.full(len(rows), isa), "st_addr": st_addr, "en_addr": en_addr, "num_instr_range": count, "last_i_type": kind,
            "last_i_subtype": subtype, "last_instr_exec": taken, "last_instr_sz": size, "last_instr_cond": conditional,
        }  # fmt: skip
        for name, each in values.items():
            elements.put(name, each, rows)
        for name, start, length in (("symbol", *texts[:2]), ("source", *texts[2:])):
            elements.put(name, Strings(self._letters, start, length), rows)

    def _grow(self) -> None:
        if self._fresh:
            fields = [
                (*each[2:], *self._text_at(self._program.symbol(each[0])), *self._text_at(self._program.line(each[0])))
                for each in self._fresh
            ]
            self._addresses = np.concatenate([self._addresses, np.array([each[:2] for each in self._fresh], dtype=np.uint64)])
            self._fields = np.concatenate([self._fields, np.array(fields, dtype=np.int64)])
            self._letters = np.frombuffer(bytes(self._text), dtype=np.uint8)
            self._fresh.clear()

    def _text_at(self, text: str | None) -> tuple[int, int]:
        """Add a text and return its position and length; the position of an absent one is negative."""
        if text is None:
            return -1, 0
        encoded = text.encode()
        self._text += encoded
        return len(self._text) - len(encoded), len(encoded)


def _types_of(block: Block) -> tuple[str, str]:
    """Return type and subtype of a block's last instruction."""
    if block.exit == Exit.ON or block.system_call:
        return "other", "none"
    kind = "br_indirect" if block.exit == Exit.DISCONTINUITY else "br"
    if block.link:
        return kind, "br_link"
    if block.back:
        return kind, "return"
    return kind, "trap_return" if block.trap_return else "none"
