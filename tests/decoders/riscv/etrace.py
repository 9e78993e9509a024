"""Packets of RISC-V E-Trace: parameters of any encoder, and a writer of packets from their fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields as names_of
from typing import Any

from hypothesis import strategies as st

from tests.reference.riscv_etrace import Unit

# Fields one after the other, each with its width and value.
Layout = list[tuple[str, int, int]]


def units() -> st.SearchStrategy[Unit]:
    """Encoders of all kinds, common ones more often."""
    width = st.sampled_from((0, 1, 8, 32)) | st.integers(0, 64)
    option = st.none() | st.integers(0, 6)
    return st.builds(
        Unit,
        version=st.sampled_from(("2.0", "2.0", "2019")),
        iaddress_width_p=st.sampled_from((32, 39, 64)) | st.integers(9, 64),
        iaddress_lsb_p=st.sampled_from((0, 1, 2, 8)),
        privilege_width_p=st.sampled_from((2, 3)) | st.integers(0, 8),
        context_width_p=width,
        nocontext_p=st.booleans(),
        time_width_p=width,
        notime_p=st.booleans(),
        ecause_width_p=st.sampled_from((4, 6)) | st.integers(1, 32),
        notval_p=st.booleans(),
        return_stack_size_p=st.sampled_from((0, 0, 3)) | st.integers(0, 31),
        call_counter_size_p=st.sampled_from((0, 0, 9)) | st.integers(0, 31),
        f0s_width_p=st.sampled_from((0, 0, 1, 2)) | st.integers(0, 8),
        cache_size_p=st.sampled_from((0, 0, 4)) | st.integers(0, 16),
        bpred_size_p=st.sampled_from((0, 0, 4)),
        encoder_mode_bits=st.sampled_from((1, 1, 0, 32)),
        ioptions_bits=st.sampled_from((5, 7, 0, 32)),
        data_trace=st.booleans(),
        doptions_bits=st.sampled_from((4, 0, 32)),
        full_address_bit=option,
        implicit_exception_bit=option,
        branch_prediction_bit=option,
        jump_target_cache_bit=option,
    )


def parameters_of(unit: Unit) -> dict[str, str]:
    """As given with -p."""

    def text(value: Any) -> str:
        return "-1" if value is None else ("no", "yes")[value] if isinstance(value, bool) else str(value)

    return {field.name: text(getattr(unit, field.name)) for field in names_of(unit)}


def packed(layout: Layout) -> tuple[int, int]:
    """The payload as a number, and its bits."""
    number = at = 0
    for name, width, value in layout:
        assert 0 <= value < 1 << width, (name, width, value)
        number |= value << at
        at += width
    return number, at


def compressed(number: int, bits: int, *, keep: int = 1) -> bytes:
    """Sign-extended to whole bytes, and bytes from the end on left out that say nothing new; ``keep``: at least so many bytes stay."""
    if bits and number >> (bits - 1) & 1:
        number -= 1 << bits
    size = -(-max(bits, 1) // 8)
    while size > max(keep, 1) and -(1 << (8 * size - 9)) <= number < 1 << (8 * size - 9):
        size -= 1
    return number.to_bytes(size, "little", signed=True) if size else b""


def map_size(unit: Unit, branches: int) -> int:
    sizes = (1, 9, 17, 25, 31) if unit.version == "2019" else (1, 3, 7, 15, 31)
    return min(size for size in sizes if size >= branches)


class Draw:
    """Draws packets of a unit, field after field in the order of the specification's tables."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], unit: Unit) -> None:
        self.draw, self.unit = draw, unit
        self.old = unit.version == "2019"
        self.ioptions = 0

    def value(self, name: str, width: int) -> tuple[str, int, int]:
        most = (1 << width) - 1
        return name, width, self.draw(st.sampled_from((0, most)) | st.integers(0, min(most, 9)) | st.integers(0, most))

    def _context(self) -> tuple[str, int, int]:
        return self.value("context", 0 if self.unit.nocontext_p else self.unit.context_width_p)

    def _time(self) -> tuple[str, int, int]:
        return self.value("time", 0 if self.unit.notime_p else self.unit.time_width_p)

    def _privilege(self) -> tuple[str, int, int]:
        return self.value("privilege", self.unit.privilege_width_p)

    def _absolute(self) -> tuple[str, int, int]:
        return self.value("address_field", self.unit.iaddress_width_p - self.unit.iaddress_lsb_p)

    def _irreport(self) -> Layout:
        stack = self.unit.return_stack_size_p
        width = stack + (stack > 0) + self.unit.call_counter_size_p
        return [self.value("irreport", 1), self.value("irdepth", width)]

    def _address(self) -> Layout:
        if self.old:
            return [self._absolute()]
        return [self._absolute(), self.value("notify", 1), self.value("updiscon", 1), *self._irreport()]

    def _where(self) -> Layout:
        branch = self.value("branch", 1)
        if self.old:
            return [self._context(), self._privilege(), branch]
        return [branch, self._privilege(), self._time(), self._context()]

    def start(self) -> Layout:
        return [("format", 2, 3), ("subformat", 2, 0), *self._where(), self._absolute()]

    def trap(self) -> Layout:
        cause = [self.value("ecause", self.unit.ecause_width_p), self.value("interrupt", 1)]
        begin = [("format", 2, 3), ("subformat", 2, 1), *self._where()]
        tval = self.value("tval", self.unit.iaddress_width_p)
        if self.old:
            return [*begin, self._absolute(), *cause, *([] if self.unit.notval_p else [tval])]
        thaddr = self.value("thaddr", 1)
        implicit = self.option(self.unit.implicit_exception_bit) and thaddr[2]
        return [*begin, *cause, thaddr, *([] if implicit else [self._absolute()]), *([] if cause[1][2] else [tval])]

    def context(self) -> Layout:
        begin: Layout = [("format", 2, 3), ("subformat", 2, 2)]
        if self.old:
            return [*begin, self.value("context", self.unit.context_width_p)]
        return [*begin, self._privilege(), self._time(), self._context()]

    def option(self, bit: int | None) -> bool:
        return bit is not None and self.ioptions >> bit & 1 == 1

    def support(self, status: int | None = None) -> Layout:
        unit = self.unit
        qualifies = self.value("qual_status", 2) if status is None else ("qual_status", 2, status)
        options = self.value("ioptions", unit.ioptions_bits)
        self.ioptions = options[2]
        layout = [("format", 2, 3), ("subformat", 2, 3), self.value("ienable", 1), self.value("encoder_mode", unit.encoder_mode_bits)]
        layout += [qualifies, options]
        if unit.data_trace and not self.old:
            layout += [self.value("denable", 1), self.value("dloss", 1), self.value("doptions", unit.doptions_bits)]
        return layout

    def branches(self) -> Layout:
        branches = self.draw(st.integers(0, 31))
        begin: Layout = [("format", 2, 1), ("branches", 5, branches)]
        if branches:
            return [*begin, self.value("branch_map", map_size(self.unit, branches)), *self._address()]
        if not self.old:
            return [*begin, self.value("branch_map", 31)]
        if self.draw(st.booleans()):
            return [*begin, ("branch_fmt", 1, 0), self.value("branch_map", 31)]
        return [*begin, ("branch_fmt", 1, 1), self.value("branch_count", 16), self.value("no_mispred", 1)]

    def address(self) -> Layout:
        return [("format", 2, 2), *self._address()]

    def subformat(self) -> int | None:
        """Of format 0 without such a field."""
        prediction, cache = self.option(self.unit.branch_prediction_bit), self.option(self.unit.jump_target_cache_bit)
        if prediction == cache:
            prediction, cache = self.unit.bpred_size_p > 0, self.unit.cache_size_p > 0
        return None if prediction == cache else int(cache)

    def optional(self) -> tuple[Layout, bool]:
        """Format 0, and whether there is a reserved value in it."""
        begin: Layout = [("format", 2, 0)]
        subformat = self.subformat()
        if self.unit.f0s_width_p:
            begin.append(self.value("subformat", self.unit.f0s_width_p))
            subformat = begin[-1][2]
        if self.old or subformat not in (0, 1):
            return begin, True
        if subformat == 0:
            form = self.value("branch_fmt", 2)
            return [*begin, self.value("branch_count", 32), form, *(self._address() if form[2] > 1 else [])], form[2] == 1
        branches = self.draw(st.integers(0, 31))
        maps = [self.value("branch_map", map_size(self.unit, branches))] if branches else []
        return [*begin, self.value("cache_index", self.unit.cache_size_p), ("branches", 5, branches), *maps, *self._irreport()], False

    def any(self) -> tuple[Layout, bool]:
        """A packet of any format, and whether there is a reserved value in it."""
        which = self.draw(st.sampled_from("aaabbbs tcuo"))
        if which == "o":
            return self.optional()
        made = {
            "a": self.address,
            "b": self.branches,
            "s": self.start,
            " ": self.start,
            "t": self.trap,
            "c": self.context,
            "u": self.support,
        }
        return made[which](), False
