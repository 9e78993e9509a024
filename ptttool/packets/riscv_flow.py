"""RISC-V E-Trace with the program: the instructions that were executed, as ranges, between the packets that tell of them.

Source: "Efficient Trace for RISC-V" 2.0, chapter "Decoder". What packets hold is in :mod:`~.riscv_etrace`, the way through the program in
:mod:`~.riscv_walk`; here ranges become elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ptttool.elf_image import Program, program_of
from ptttool.errors import UsageError
from ptttool.packets import riscv_etrace
from ptttool.packets.batch import I64, U8, Array, Batch, Spans
from ptttool.packets.decoder import PROTOCOLS, PacketDecoder, Protocol
from ptttool.packets.elements import CODES, INSTRUCTION_SUBTYPES, INSTRUCTION_TYPES, ISAS, NO_SYNC, REASON_CODES, Field, Flags, common
from ptttool.packets.framed import Packets
from ptttool.packets.parameters import Parameter, Settings
from ptttool.packets.riscv_code import BRANCH, DISCONTINUITY, ON, Code
from ptttool.packets.riscv_etrace import RiscvEtrace
from ptttool.packets.riscv_etrace_setup import PARAMETERS, Setup
from ptttool.packets.riscv_walk import (
    DISCONTINUED,
    ENDED,
    ENDLESS_LOOP,
    MOVED,
    NO_CODE,
    NO_OUTCOME,
    NOTIFIED,
    OUTCOMES_LEFT,
    REPORTED,
    SYNCHRONISED,
    UNEXPECTED_JUMP,
    Place,
    Range,
    Walker,
    Way,
)  # fmt: skip

NAME = "riscv-flow"
INSTR_RANGE, ADDR_NACC = CODES["instr_range"], CODES["addr_nacc"]
# Kinds of elements that tell of packets alone; a listing of what was executed can do without.
OF_PACKETS = ("addr", "branch_map", "custom")
# Why a way is not followed, beside what :mod:`~.riscv_walk` meets.
BAD_PACKET, IMPLICIT_RETURN, IMPLICIT_EXCEPTION = "bad_packet", "implicit_return", "implicit_exception"
BRANCH_PREDICTION, JUMP_TARGET_CACHE = "branch_prediction", "jump_target_cache"
PROBLEMS = (
    NO_OUTCOME, OUTCOMES_LEFT, UNEXPECTED_JUMP, ENDLESS_LOOP, NO_CODE, BAD_PACKET, IMPLICIT_RETURN, IMPLICIT_EXCEPTION, BRANCH_PREDICTION,
    JUMP_TARGET_CACHE,
)  # fmt: skip
# The program is not the one that was traced; a packet is not as it should be; the encoder does what is not followed.
_REASON_NAMES = {BAD_PACKET: "bad_packet"} | dict.fromkeys((NO_OUTCOME, OUTCOMES_LEFT, UNEXPECTED_JUMP, ENDLESS_LOOP), "bad_image")
_REASONS: U8 = np.array([REASON_CODES[_REASON_NAMES.get(name, "not_followed")] for name in PROBLEMS], dtype=np.uint8)
_PROBLEM_CODES = {name: number for number, name in enumerate(PROBLEMS)}
_NOTHING = -1
# Formats and subformats.
_OPTIONAL, _BRANCHES, _ADDRESS, _SYNC = range(4)
_START, _TRAP, _, _SUPPORT = range(4)
_TRACE_ENDED = 3  # qual_status: there is nothing that was not reported


class Table:
    """What elements say of ranges, by their numbers: arrays that grow as ranges are met."""

    def __init__(self, program: Program, walker: Walker) -> None:
        self._program, self._walker = program, walker
        self._text = bytearray()
        self._rows: list[tuple[int, ...]] = []
        self._numbers: Array = np.zeros((0, 10), dtype=np.int64)
        self._addresses: Array = np.zeros((0, 2), dtype=np.uint64)

    def put(self, batch: Batch, rows: I64, numbers: I64) -> None:
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
        text: U8 = np.frombuffer(bytes(self._text), dtype=np.uint8)
        for name, start, length in (("symbol", *texts[:2]), ("source", *texts[2:])):
            batch.put(name, Spans(text, start, length), rows)

    def _grow(self) -> None:
        done = len(self._numbers)
        more = self._walker.ranges[done:]
        if not more:
            return
        self._addresses = np.concatenate([self._addresses, np.array([(each.start, each.end) for each in more], dtype=np.uint64)])
        self._numbers = np.concatenate([self._numbers, np.array([self._row(each) for each in more], dtype=np.int64)])

    def _row(self, each: Range) -> tuple[int, ...]:
        block = each.block
        kind, subtype, conditional = "other", "none", False
        if block is not None and block.way != ON and not block.system_call:
            kind = "br_indirect" if block.way == DISCONTINUITY else "br"
            subtype = "br_link" if block.link else "return" if block.back else "trap_return" if block.trap_return else "none"
            conditional = block.way == BRANCH
        return (
            each.count,
            INSTRUCTION_TYPES.index(kind),
            INSTRUCTION_SUBTYPES.index(subtype),
            each.taken or not conditional,
            each.end - each.last,
            conditional,
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


@dataclass
class Told:
    """Elements beside the packets' own. ``packets``: of which packet each is; ``early``: whether it comes before the packet's own.

    ``ranges``: number of the range, :data:`_NOTHING` for other elements. ``missing``: address of an addr_nacc; ``problems``: number of what
    a no_sync is for, else :data:`_NOTHING`. ``returns``: packets of exceptions, with the address that the program was at.
    """

    packets: list[int] = field(default_factory=list)
    early: list[bool] = field(default_factory=list)
    ranges: list[int] = field(default_factory=list)
    problems: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    returns: dict[int, int] = field(default_factory=dict)

    def add(self, packet: int, ranges: tuple[int, ...], *, early: bool) -> None:
        """Ranges."""
        count = len(ranges)
        self.packets += [packet] * count
        self.early += [early] * count
        self.ranges += ranges
        self.problems += [_NOTHING] * count
        self.missing += [0] * count

    def order(self) -> I64:
        """Places among the packets' own elements, which have 4 * packet + 1."""
        found: I64 = 4 * np.array(self.packets, dtype=np.int64) + np.where(self.early, 0, 2)
        return found

    def fail(self, packet: int, problem: str, missing: int) -> None:
        """The way cannot be followed from a packet on."""
        self.packets.append(packet)
        self.early.append(False)
        self.ranges.append(_NOTHING)
        self.problems.append(_PROBLEM_CODES[problem])
        self.missing.append(missing)


class Hart:
    """Where one hart is, packet by packet. ``place``: None until a packet tells where trace begins, and after what cannot be followed."""

    def __init__(self, setup: Setup, walker: Walker) -> None:
        self._setup, self._walker = setup, walker
        self.forget()
        self._implicit_returns = self._bit(setup.initial, setup.implicit_return_bit)

    def forget(self) -> None:
        """Wait for a packet that tells where trace begins."""
        self.place: Place | None = None
        self._trapped = False
        self._privilege = 0

    @staticmethod
    def _bit(options: int, bit: int) -> bool:
        return bit >= 0 and bool(options >> bit & 1)

    def rest(self) -> tuple[int, ...]:
        """What has been executed and is no range yet."""
        return () if self.place is None else self._walker.rest(self.place)

    def lose(self, packet: int, problem: str, told: Told, missing: int = 0) -> None:
        """Say once why the way cannot be followed."""
        if self.place is not None:
            told.fail(packet, problem, missing)
        self.place = None

    def _go(self, packet: int, way: Way, told: Told, *, early: bool) -> None:
        told.add(packet, way.ranges, early=early)
        self.place = way.end
        if way.end is None:
            assert way.problem is not None
            told.fail(packet, way.problem, way.missing)

    def branches(self, packet: int, count: int, outcomes: int, address: int | None, way: int, told: Told) -> None:
        """Formats 1 and 2. ``address``: None where it cannot be known. ``count``: 0 for a full map without address, -1 for no map."""
        place = self.place
        if place is None:
            return
        if self._trapped:  # nothing goes on before the trap's handler
            self.lose(packet, BAD_PACKET, told)
            return
        to_branch = count == 0
        if address is None and not to_branch:
            self.lose(packet, BAD_PACKET, told)
            return
        added = 31 if to_branch else max(count, 0)
        if added:
            place = Place(
                place.block, place.open, place.pc, place.branches + added, place.outcomes | outcomes << place.branches, place.inferred
            )
        self._go(packet, self._walker.follow(place, address or 0, to_branch=to_branch, way=way), told, early=False)

    def start(self, packet: int, address: int, outcome: int, privilege: int, told: Told) -> None:
        """Format 3.0."""
        if self._implicit_returns:
            return
        if self.place is None or self._trapped:
            way = self._walker.begin(address, outcome)
        else:
            way = self._walker.sync(self.place, address, outcome, SYNCHRONISED if privilege == self._privilege else MOVED)
        self._trapped, self._privilege = False, privilege
        self._go(packet, way, told, early=True)

    def trap(self, packet: int, address: int | None, outcome: int, privilege: int, *, handler: bool, interrupt: bool, told: Told) -> None:
        """Format 3.1. ``handler``: the address is that of the trap's handler, else it means something of exceptions alone."""
        if self.place is not None and not self._trapped:
            back = self._walker.next(self.place)
            if self._walker.is_discontinuity(self.place) and not handler and not interrupt:
                back = address
            if back is not None:
                told.returns[packet] = back
            told.add(packet, self.rest(), early=True)
        if self._implicit_returns:
            return
        self._trapped, self._privilege = not handler, privilege
        if not handler:
            return
        if address is None:
            self.lose(packet, IMPLICIT_EXCEPTION, told)
        else:
            self._go(packet, self._walker.begin(address, outcome), told, early=False)

    def support(self, packet: int, status: int, options: int, told: Told) -> None:
        """Format 3.3."""
        if status and self.place is not None:
            if status == _TRACE_ENDED and self.place.inferred and not self._trapped:
                way = self._walker.follow(self.place, 0, way=ENDED)
                if way.end is not None:
                    told.add(packet, way.ranges, early=True)
                    self.place = way.end
            if not self._trapped:
                told.add(packet, self.rest(), early=True)
            self.place = None
        if status:
            self._trapped = False
        self._implicit_returns = self._bit(options, self._setup.implicit_return_bit)
        if self._implicit_returns:
            self.place = None
            told.fail(packet, IMPLICIT_RETURN, 0)


class RiscvFlow(PacketDecoder):
    """Decodes the packets of one encoder, and follows its hart through the program."""

    def __init__(self, setup: Setup, code: Code, *, sequential_jumps: bool) -> None:
        self._packets = RiscvEtrace(setup)
        walker = Walker(code, sequential_jumps=sequential_jumps)
        self._table = Table(code.program, walker)
        self._hart = Hart(setup, walker)
        self._last = Batch.empty(NAME)  # the element of the last packet

    def lost(self, reason: str) -> None:
        self._packets.lost(reason)
        self._hart.forget()

    def end(self) -> Batch:
        told = Told()
        if len(self._last):
            told.add(0, self._hart.rest(), early=False)
        self._hart.forget()
        return self._told(told, self._last)

    def decode(self, packets: Packets) -> Batch:
        if not len(packets):
            return Batch.empty(NAME)
        batch = self._packets.decode(packets)
        batch.protocols = (NAME,)
        first = np.flatnonzero(np.diff(batch.index, prepend=batch.index[0] + 1))
        last = np.append(first[1:], len(batch)) - 1
        told = Told()
        _follow(self._hart, batch, last, told)
        returns = last[np.array(list(told.returns), dtype=np.int64)]
        batch.put("en_addr", np.array(list(told.returns.values()), dtype=np.uint64), returns)
        self._last = batch.take(last[-1:])
        if not told.packets:
            return batch
        # Each packet's elements: what comes before, its own, what comes after.
        order = np.concatenate([4 * np.repeat(np.arange(len(last)), np.diff(first, append=len(batch))) + 1, told.order()])
        return Batch.join([batch, self._told(told, batch.take(last))]).take(np.argsort(order, kind="stable"))

    def _told(self, told: Told, packets: Batch) -> Batch:
        """The elements that were told of. ``packets``: an element of each packet."""
        rows = np.array(told.packets, dtype=np.int64)
        ranges, problems = np.array(told.ranges, dtype=np.int64), np.array(told.problems, dtype=np.int64)
        kinds = np.where(ranges >= 0, INSTR_RANGE, np.where(problems == _PROBLEM_CODES[NO_CODE], ADDR_NACC, NO_SYNC))
        batch = Batch(
            NAME, packets.index[rows], np.zeros(len(rows), dtype=np.uint64), kind=kinds, channel=packets.channel[rows],
            timestamp=packets.timestamp[rows], timed=packets.timed[rows],
        )  # fmt: skip
        some = np.flatnonzero(ranges >= 0)
        if len(some):
            self._table.put(batch, some, ranges[some])
        some = np.flatnonzero(kinds == ADDR_NACC)
        batch.put("st_addr", np.array(told.missing, dtype=np.uint64)[some], some)
        some = np.flatnonzero(kinds == NO_SYNC)
        batch.put("reason", _REASONS[problems[some]], some)
        batch.put("problem", problems[some], some)
        return batch


def _follow(hart: Hart, batch: Batch, last: I64, told: Told) -> None:
    """Give a hart its packets. ``last``: the last element of each, which has its fields."""

    def values(name: str, rows: I64 = last) -> list[Any]:
        found, known = batch.column(name, _TYPES[name])
        some: list[Any] = found[rows].tolist()
        absent = np.flatnonzero(~known[rows])
        for row in absent.tolist():
            some[row] = None
        return some

    formats, subformats, addresses = values("format"), values("subformat"), values("address")
    counts, outcomes = values("branches"), values("branch_map")
    notified, discontinued = values("is_notify"), values("is_updiscon")
    reserved = (batch.flags[last] & np.uint32(Flags.RESERVED) != 0).tolist()
    if _SYNC in formats:
        branch, privilege = values("branch"), values("privilege")
        # The context of format 3.0 is an element before its address.
        privilege_before = values("privilege", last - 1)
        handler, interrupt, status, options = (values(name) for name in ("thaddr", "interrupt", "qual_status", "ioptions"))
    for packet, form in enumerate(formats):
        if form in (_BRANCHES, _ADDRESS) and not reserved[packet]:
            way = NOTIFIED if notified[packet] else DISCONTINUED if discontinued[packet] else REPORTED
            count = counts[packet] if form == _BRANCHES else _NOTHING
            hart.branches(packet, count, outcomes[packet] or 0, addresses[packet], way, told)
        elif form == _SYNC and not reserved[packet]:
            subformat = subformats[packet]
            if subformat == _START:
                hart.start(packet, addresses[packet], branch[packet], privilege_before[packet] or 0, told)
            elif subformat == _TRAP:
                hart.trap(
                    packet, addresses[packet], branch[packet], privilege[packet] or 0, handler=bool(handler[packet]),
                    interrupt=bool(interrupt[packet]), told=told,
                )  # fmt: skip
            elif subformat == _SUPPORT:
                hart.support(packet, status[packet], options[packet] or 0, told)
        elif form == _OPTIONAL and not reserved[packet]:
            hart.lose(packet, BRANCH_PREDICTION if subformats[packet] == 0 else JUMP_TARGET_CACHE, told)
        else:
            hart.lose(packet, BAD_PACKET, told)


FIELDS = (
    *riscv_etrace.FIELDS,
    *common("isa", "st_addr", "en_addr", "num_instr_range", "last_i_type", "last_i_subtype", "last_instr_exec", "last_instr_sz",
            "last_instr_cond"),
    Field("symbol", "text", "function or label that st_addr is in, and how far"),
    Field("source", "text", "file and line of the source that st_addr is of"),
    Field("problem", "enum", "why the program cannot be followed from here on", PROBLEMS),
)  # fmt: skip
_TYPES = {each.name: each.dtype for each in FIELDS}


# Of a listing of what was executed; the packets' own are for those who look at packets.
SHOWN = (
    "reason", "isa", "st_addr", "en_addr", "num_instr_range", "last_i_type", "last_i_subtype", "last_instr_exec", "last_instr_sz",
    "last_instr_cond", "symbol", "source", "privilege", "context_id", "time", "exception_number", "interrupt", "tval", "problem",
)  # fmt: skip
_REMARKS = {
    NO_OUTCOME: "packets and program do not agree: a branch whose outcome no packet tells",
    OUTCOMES_LEFT: "packets and program do not agree: more outcomes than branches",
    UNEXPECTED_JUMP: "packets and program do not agree: a jump whose target no packet tells",
    ENDLESS_LOOP: "packets and program do not agree: the program never gets where a packet says",
    BAD_PACKET: "a packet that cannot be: nothing is known up to the next synchronisation",
    IMPLICIT_RETURN: "the encoder leaves returns out (implicit return): that is not followed",
    IMPLICIT_EXCEPTION: "the encoder leaves trap handlers' addresses out (implicit exception): that is not followed",
    BRANCH_PREDICTION: "the encoder predicts branches: that is not followed",
    JUMP_TARGET_CACHE: "the encoder has a jump target cache: that is not followed",
}


def _remarks(batch: Batch) -> Iterator[str]:
    """Where the program could not be followed."""
    problems, known = batch.column("problem", "enum")
    for problem in problems[known].tolist():
        yield _REMARKS[PROBLEMS[problem]]
    for address in batch.column("st_addr")[0][batch.kind == ADDR_NACC].tolist():
        yield f"no program has code at {address:#x}"


@lru_cache(maxsize=4)
def _code(elf: str) -> Code:
    """Harts of one trace share the program."""
    return Code(program_of(elf))


def _check(settings: Settings) -> None:
    if settings["version"] != "2.0":
        raise UsageError(
            f"version={settings['version']}: only packets of version 2.0 can be followed through a program",
            hint="the draft does not say how; ptttool packets --protocol riscv-etrace lists its packets", code="bad-parameter",
        )  # fmt: skip
    _code(settings["elf"])


def _make(settings: Settings) -> RiscvFlow:
    return RiscvFlow(Setup.of(settings), _code(settings["elf"]), sequential_jumps=settings["sijump"])


PROTOCOLS.add(
    NAME,
    Protocol(
        name=NAME,
        meaning="RISC-V E-Trace with the program (ELF): the instructions that were executed",
        make=_make,
        check=_check,
        reads="packets",
        framings=("riscv-encap",),
        parameters=(
            Parameter("elf", "text", "the program: FILE, or FILE@OFFSET where it was loaded elsewhere; several with commas", reads="files"),
            Parameter("sijump", "bool", "jumps by a register that the instruction before has set are not reported", False),
            *PARAMETERS,
        ),
        fields=FIELDS,
        remarks=_remarks,
        resync="as riscv-etrace; the way through the program from the next packet of format 3.0 or 3.1 on",
    ),
)
