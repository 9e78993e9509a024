"""RISC-V E-Trace with the program: the instructions that were executed, as ranges, between the packets that report them.

Source: "Efficient Trace for RISC-V" 2.0, chapter "Decoder". :mod:`ptttool.decoders.riscv.etrace` reads the packets, :mod:`~.hart` and
:mod:`~.walk` follow the program; here ranges become elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ptttool.budget import over_budget_text
from ptttool.decoders.budget import MAX_PROGRAMS, MAX_RANGES_BRANCH, MAX_RANGES_FREE, MAX_RANGES_RATIO, MAX_RANGES_SAVED
from ptttool.decoders.contract import PacketDecoder, PacketProtocol, StreamContext, register
from ptttool.decoders.elements.arrays import I64, U8, Array, Elements
from ptttool.decoders.elements.model import CODES, NO_SYNC, REASON_CODES, Flags, column, common
from ptttool.decoders.packets import Packets
from ptttool.decoders.parameters import Parameter, Paths, files_of, flag, number_of, text
from ptttool.decoders.riscv.elf import Image, Program
from ptttool.decoders.riscv.etrace import protocol as riscv_etrace
from ptttool.decoders.riscv.etrace.protocol import RiscvEtrace, misfits
from ptttool.decoders.riscv.etrace.setup import EtraceSettings
from ptttool.decoders.riscv.flow.code import Code
from ptttool.decoders.riscv.flow.hart import Hart, Report
from ptttool.decoders.riscv.flow.problems import MISMATCHES, PROBLEM_CODES, PROBLEMS, REMARKS, Problem
from ptttool.decoders.riscv.flow.steps import Goal
from ptttool.decoders.riscv.flow.walk import Walker
from ptttool.errors import UsageError
from ptttool.table.schema import DType

NAME = "riscv-flow"
INSTR_RANGE, ADDR_NACC = CODES["instr_range"], CODES["addr_nacc"]
# Kinds of elements that are only about packets; a listing of what was executed leaves them out.
OF_PACKETS = ("addr", "branch_map", "custom")
# The program is not the one that was traced; a packet is malformed; the encoder does what cannot be followed.
_REASON_NAMES = {Problem.BAD_PACKET: "bad_packet"} | dict.fromkeys(MISMATCHES, "bad_image")
_REASONS: U8 = np.array([REASON_CODES[_REASON_NAMES.get(problem, "not_followed")] for problem in Problem], dtype=np.uint8)
_NOTHING = -1
# Formats and subformats.
_OPTIONAL, _BRANCHES, _ADDRESS, _SYNC = range(4)
_START, _TRAP, _, _SUPPORT = range(4)
# Segments of a program that a remark names.
_MOST_RANGES = 4
_FULL_MAP = 31  # branches of a map without an address
# Different ranges that are known; of more, all are forgotten.
_MOST_KNOWN = 1 << 17


class RiscvFlow(PacketDecoder):
    """Decodes the packets of one encoder, and follows its hart through the program.

    Parameters
    ----------
    settings : EtraceSettings
        Parameters of the encoder.
    code : Code
        The program.
    sequential_jumps : bool
        Whether packets leave out the targets of jumps by a register that the instruction before has set.
    """

    def __init__(self, settings: EtraceSettings, code: Code, *, sequential_jumps: bool) -> None:
        self._packets = RiscvEtrace(settings)
        self._walker = Walker(code, sequential_jumps=sequential_jumps)
        self._hart = Hart(settings, self._walker)
        self._has_options = settings.ioptions_bits > 0
        self._code = code
        self._narrow = settings.iaddress_width_p if 1 << settings.iaddress_width_p <= code.program.mask else 0
        self._last = Elements.empty(NAME)  # the last element of the last packet
        self._left = MAX_RANGES_FREE  # ranges that may be found before the next packet

    def lost(self, reason: str) -> None:
        """Forget where the hart is."""
        self._packets.lost(reason)
        self._hart.forget()

    def end(self) -> Elements:
        """Return the range of what was executed since the last packet."""
        report = Report()
        if len(self._last):
            report.add(0, self._hart.rest(), early=False)
        self._hart.forget()
        return self._reported(report, self._last)

    def decode(self, packets: Packets) -> Elements:
        """Return the elements of packets, and of what was executed between them."""
        if not len(packets):
            return Elements.empty(NAME)
        elements = self._packets.decode(packets)
        elements.protocols = (NAME,)
        first = np.flatnonzero(np.diff(elements.index, prepend=elements.index[0] + 1))
        last = np.append(first[1:], len(elements)) - 1
        report = Report()
        if len(self._walker.ranges) > _MOST_KNOWN:  # no element refers to them any more
            self._walker.forget()
        self._follow(elements, last, packets.size, report)
        returns = last[np.array(list(report.returns), dtype=np.int64)]
        elements.put("en_addr", np.array(list(report.returns.values()), dtype=np.uint64), returns)
        self._last = elements.take(last[-1:])
        if not report.ranges and not report.failed:
            return elements
        # Each packet's elements: what comes before, its own, what comes after.
        order = np.concatenate([4 * np.repeat(np.arange(len(last)), np.diff(first, append=len(elements))) + 1, report.order()])
        return Elements.join([elements, self._reported(report, elements.take(last))]).take(np.argsort(order, kind="stable"))

    def _reported(self, report: Report, packets: Elements) -> Elements:
        """Return the elements of a report; `packets` has one element of each packet."""
        rows = report.order() >> 2
        count = len(report.ranges)
        problems = np.array([PROBLEM_CODES[problem] for _, problem, _ in report.failed], dtype=np.uint8)
        kinds = np.full(len(rows), INSTR_RANGE, dtype=np.uint8)
        kinds[count:] = np.where(problems == PROBLEM_CODES[Problem.NO_CODE], ADDR_NACC, NO_SYNC)
        elements = Elements(
            NAME, packets.index[rows], np.zeros(len(rows), dtype=np.uint64), kind=kinds, channel=packets.channel[rows],
            timestamp=packets.timestamp[rows], timed=packets.timed[rows],
        )  # fmt: skip
        if count:
            self._walker.ranges.put(elements, np.arange(count), np.array(report.ranges, dtype=np.int64))
        some = np.flatnonzero(kinds == ADDR_NACC)
        elements.put("st_addr", np.array([missing for _, _, missing in report.failed], dtype=np.uint64)[some - count], some)
        some = np.flatnonzero(kinds == NO_SYNC)
        elements.put("reason", _REASONS[problems[some - count]], some)
        elements.put("problem", problems[some - count], some)
        return elements

    def _follow(self, elements: Elements, last: I64, sizes: I64, report: Report) -> None:
        """Give the hart its packets; `last` is the last element of each, which has its fields, `sizes` are their bytes."""
        hart, left = self._hart, self._left

        def field_of(name: str, rows: I64 = last) -> Array:
            return elements.column(name, _TYPES[name])[0][rows]

        formats, subformats = field_of("format").astype(np.int64), field_of("subformat").tolist()
        formats[elements.flags[last] & np.uint32(Flags.RESERVED) != 0] = _NOTHING
        addresses, valid = (each[last] for each in elements.column("address"))
        if self._narrow:
            addresses = self._widened(addresses)
        counts = np.where(formats == _BRANCHES, field_of("branches"), 0)
        full = (formats == _BRANCHES) & (counts == 0)
        goals = np.where(field_of("is_updiscon"), Goal.DISCONTINUED, Goal.REPORTED)
        goals = np.where(full, Goal.LAST_BRANCH, np.where(field_of("is_notify"), Goal.NOTIFIED, goals))
        # Without an address, it is unknown what was executed.
        formats[((formats == _BRANCHES) | (formats == _ADDRESS)) & ~valid & ~full] = _NOTHING
        # Bits without a branch do not matter.
        reported = np.where(full, _FULL_MAP, counts).astype(np.uint64)
        outcomes = (np.where(formats == _BRANCHES, field_of("branch_map"), 0) & ((np.uint64(1) << reported) - np.uint64(1))).tolist()
        # A loop takes many ranges from few bytes, but each of its rounds is a reported branch. What only jumps reports nothing.
        more = np.minimum(MAX_RANGES_RATIO * sizes, MAX_RANGES_BRANCH * (reported.astype(np.int64) + 1)).tolist()
        counts, addresses = reported.tolist(), np.where(valid, addresses, 0).tolist()
        traps = {}
        if (formats == _SYNC).any():
            names = ("branch", "privilege", "thaddr", "interrupt", "qual_status", "ioptions")
            traps = {name: field_of(name).tolist() for name in names}
            # The context of format 3.0 is an element before its address.
            traps["privilege_before"] = field_of("privilege", last - 1).tolist()
        for packet, (form, goal) in enumerate(zip(formats.tolist(), goals.tolist(), strict=True)):
            left = min(left + more[packet], MAX_RANGES_SAVED)
            ranges_before = len(report.ranges)
            if left < 0:
                hart.lose(packet, Problem.OVER_BUDGET, report)
            if form in (_BRANCHES, _ADDRESS):
                hart.go(packet, addresses[packet], goal, counts[packet], outcomes[packet], report)
            elif form == _SYNC:
                self._sync(packet, subformats[packet], addresses[packet] if valid[packet] else None, traps, report)
            elif form == _OPTIONAL:
                hart.lose(packet, Problem.BRANCH_PREDICTION if subformats[packet] == 0 else Problem.JUMP_TARGET_CACHE, report)
            else:
                hart.lose(packet, Problem.BAD_PACKET, report)
            left -= len(report.ranges) - ranges_before
        self._left = left

    def _widened(self, addresses: Array) -> Array:
        """Return addresses with the program's bits: an address without code may be a sign-extended one, such as a kernel's."""
        program = self._code.program
        distinct, which = np.unique(addresses, return_inverse=True)
        high = np.uint64(program.mask & ~((1 << self._narrow) - 1))
        for position in np.flatnonzero(distinct >> np.uint64(self._narrow - 1) & np.uint64(1)).tolist():
            other = distinct[position] | high
            if not program.read(int(distinct[position]), 1) and program.read(int(other), 1):
                distinct[position] = other
        widened: Array = distinct[which]
        return widened

    def _sync(self, packet: int, subformat: int, address: int | None, fields: Mapping[str, list[int]], report: Report) -> None:
        """Take a packet of format 3; `fields` has lists with an entry for each packet."""
        branch = fields["branch"][packet]
        if subformat == _START:
            assert address is not None
            self._hart.start(packet, address, branch, fields["privilege_before"][packet], report)
        elif subformat == _TRAP:
            handler, interrupt = bool(fields["thaddr"][packet]), bool(fields["interrupt"][packet])
            self._hart.trap(packet, address, branch, fields["privilege"][packet], handler=handler, interrupt=interrupt, report=report)
        elif subformat == _SUPPORT:
            options = fields["ioptions"][packet] if self._has_options else None
            self._hart.support(packet, fields["qual_status"][packet], options, report)


# Fields of a range of instructions.
_RANGE = (
    "isa", "st_addr", "en_addr", "num_instr_range", "last_i_type", "last_i_subtype", "last_instr_exec", "last_instr_sz", "last_instr_cond",
)  # fmt: skip
FIELDS = (
    *riscv_etrace.FIELDS,
    *common(*_RANGE),
    column("symbol", DType.TEXT, "function or label that st_addr is in, and how far"),
    column("source", DType.TEXT, "file and line of the source that st_addr is of"),
    column("problem", DType.ENUM, "why the program cannot be followed from here on", PROBLEMS),
)  # fmt: skip
_TYPES = {each.name: each.dtype for each in FIELDS}


# Fields in a listing of what was executed, without those of packets.
SHOWN = (
    "reason", *_RANGE, "symbol", "source", "privilege", "context_id", "time", "exception_number", "interrupt", "tval", "problem",
)  # fmt: skip


@lru_cache(maxsize=4)
def _code(elf: str) -> Code:
    """Return the code of programs; the harts of one trace share it."""
    images: dict[str, Image] = {}  # a file may be named for several offsets
    loaded = []
    files = files_of(elf)
    if len(files) > MAX_PROGRAMS:
        raise over_budget_text("elf=", MAX_PROGRAMS, "programs")
    for path, offset in files:
        base = 0 if offset is None else number_of(offset)
        if not path or base is None:
            raise UsageError(f"elf={path}@{offset} is not FILE or FILE@OFFSET", hint="such as program.elf@0x10000", code="bad-parameter")
        if path not in images:
            images[path] = Image(path, base)
        loaded.append(images[path].moved(base))
    if not loaded:
        raise UsageError(f"elf={elf} does not name a file", hint="such as firmware.elf,kernel.elf", code="bad-parameter")
    return Code(Program(loaded))


@dataclass(frozen=True, kw_only=True)
class FlowSettings(EtraceSettings):
    """Parameters of an encoder, and the program that ran."""

    elf: str = text("the program: FILE, or FILE@OFFSET where it was loaded elsewhere; several with commas", paths=Paths.FILES)
    sijump: bool = flag("jumps by a register that the instruction before has set are not reported", False)

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return the parameters, the program first."""
        parameters = super().parameters()
        first = tuple(each for each in parameters if each.name in ("elf", "sijump"))
        return (*first, *(each for each in parameters if each not in first))


@register
class FlowProtocol(PacketProtocol[FlowSettings]):
    """RISC-V E-Trace with the program, for the registry."""

    name = NAME
    meaning = "RISC-V E-Trace with the program (ELF): the instructions that were executed"
    resync = "as riscv-etrace; the path through the program from the next packet of format 3.0 or 3.1 on"
    settings_type = FlowSettings
    framings = ("riscv-encap",)
    fields = FIELDS
    feed = 1 << 14  # a byte may stand for many ranges

    def check(self, settings: FlowSettings, context: StreamContext) -> None:
        """Check that packets of this version can be followed, and that the program can be read."""
        if settings.version != "2.0":
            raise UsageError(
                f"version={settings.version}: only packets of version 2.0 can be followed through a program",
                hint="the draft does not say how; ptttool decode --protocol riscv-etrace lists its packets", code="bad-parameter",
            )  # fmt: skip
        _code(settings.elf)

    def channel_decoder(self, settings: FlowSettings, context: StreamContext, channel: int) -> RiscvFlow:
        """Return a decoder for the packets of one encoder."""
        return RiscvFlow(settings, _code(settings.elf), sequential_jumps=settings.sijump)

    def remarks(self, elements: Elements, settings: FlowSettings) -> Iterator[str]:
        """Yield why the program could not be followed."""
        yield from misfits(elements, settings)
        if "problem" in elements.parts:
            problems, valid = elements.column("problem", DType.ENUM)
            for problem in problems[valid].tolist():
                yield REMARKS[Problem(PROBLEMS[problem])]
        rows = np.flatnonzero(elements.kind == ADDR_NACC)
        if len(rows):
            missing = elements.column("st_addr")[0][rows].tolist()
            images = _code(settings.elf).program.images
            ranges = [f"{segment.address:#x} to {segment.end - 1:#x}" for image in images for segment in image.segments]
            where = ", ".join(ranges[:_MOST_RANGES]) + (", …" if len(ranges) > _MOST_RANGES else "")
            yield from (f"no program has code at {address:#x}; there is code from {where}" for address in missing)

    def afterwards(self, settings: FlowSettings) -> Iterator[str]:
        """Yield what was wrong with the programs."""
        for image in _code(settings.elf).program.images:
            if image.problem is not None:
                yield f"{image.path}: its debugging information is damaged: lines of source are missing ({image.problem})"
