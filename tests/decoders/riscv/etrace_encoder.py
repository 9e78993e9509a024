"""An encoder of RISC-V E-Trace: from what a hart does, cycle by cycle, to packets. Made from the specification, apart from the decoder.

Source: "Efficient Trace for RISC-V" 2.0, chapters "Hart to encoder interface", "Instruction Trace Encoder Output Packets", "Reference
Compressed Branch Trace Algorithm": a hart that retires one instruction at a time, the algorithm without its options (sequentially inferable
jumps aside). The encoder sees the cycles before and after the one it is at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from tests.decoders.riscv.etrace import Layout, compressed, packed

FULL_MAP = 31
# qual_status
NO_CHANGE, ENDED_REPORTED, LOST, ENDED = range(4)
FULL_ADDRESS = 1 << 2  # of ioptions, as the reference encoder has them


class Kind(Enum):
    """What an instruction does, as the interface tells it (itype)."""

    OTHER = "other"
    TAKEN = "taken branch"
    NOT_TAKEN = "branch not taken"
    JUMP = "jump to where it says itself"
    DISCONTINUITY = "jump by a register"
    TRAP_RETURN = "return from a trap"


@dataclass(frozen=True)
class Trap:
    """An exception or interrupt that traps."""

    cause: int
    tval: int = 0
    interrupt: bool = False


@dataclass(frozen=True)
class Cycle:
    """One cycle of a hart: an instruction that retires, a trap, or both (the trap comes behind the instruction).

    ``address``: of the instruction; without one, of what the exception is of (of an interrupt it is not defined). ``sequential``: a
    discontinuity whose register the instruction retired before has set. ``precise``: the context changes with this instruction. ``traced``:
    qualified. ``notify``: the address is asked for.
    """

    address: int
    kind: Kind = Kind.OTHER
    privilege: int = 3
    retired: bool = True
    trap: Trap | None = None
    sequential: bool = False
    context: int = 0
    precise: bool = False
    traced: bool = True
    notify: bool = False

    @property
    def trap_only(self) -> bool:
        return self.trap is not None and not self.retired


@dataclass(frozen=True)
class Settings:
    """Of an encoder. ``resync``: packets after which a synchronisation is due. ``sijump``: sequentially inferable jumps are not reported.

    ``early``: it is known in time that the next instruction is not traced, and updiscon says so. ``lost``: ranges of cycles (first, behind
    the last) whose packets are lost. ``undefined``: what stands in address fields that are not defined. ``options``: further ioptions.
    """

    address_width: int = 64
    address_lsb: int = 1
    privilege_width: int = 2
    context_width: int = 0
    time_width: int = 0
    ecause_width: int = 4
    irdepth_width: int = 0
    full_address: bool = False
    resync: int | None = None
    sijump: bool = False
    early: bool = False
    lost: tuple[tuple[int, int], ...] = ()
    undefined: int = 0
    options: int = 0

    @property
    def ioptions(self) -> int:
        return self.options | FULL_ADDRESS * self.full_address

    def parameters(self) -> dict[str, str]:
        """As given with -p."""
        return {
            "iaddress_width_p": str(self.address_width),
            "iaddress_lsb_p": str(self.address_lsb),
            "privilege_width_p": str(self.privilege_width),
            "context_width_p": str(self.context_width or 1),
            "nocontext_p": ("no", "yes")[not self.context_width],
            "time_width_p": str(self.time_width or 1),
            "notime_p": ("no", "yes")[not self.time_width],
            "ecause_width_p": str(self.ecause_width),
            "call_counter_size_p": str(self.irdepth_width),
            "sijump": ("no", "yes")[self.sijump],
        }


@dataclass(frozen=True)
class Packet:
    """A packet without its envelope.

    Attributes
    ----------
    cycle : int
        Cycle at which it was made.
    reaches : int or None
        Number of the cycle up to which this packet and those before it report what has retired. None: it reports nothing new.
    sync : bool
        Whether decoding can begin here.
    trap : str
        Which trap it reports.
    epc : bool
        Whether the address is the EPC.
    status : int
        Status of a support packet.
    """

    payload: bytes
    cycle: int
    reaches: int | None = None
    sync: bool = False
    trap: Trap | None = None
    epc: bool = False
    status: int | None = None

    @property
    def framed(self) -> bytes:
        """Behind the header of one byte."""
        return bytes([len(self.payload)]) + self.payload


def layout_size(settings: Settings) -> int:
    """Bits of an address field."""
    return settings.address_width - settings.address_lsb


@dataclass
class Encoder:
    """Makes packets of one hart's cycles. ``updiscons``: numbers of the cycles that are uninferable discontinuities to it.

    In two cases it says more than the reference algorithm, which leaves it open there what happened: where the target of a discontinuity
    was passed before since the packet before, and a packet of format 3.0 would come next, though not at once; and where a context changes
    at an address that was passed before since the packet before.
    """

    settings: Settings = field(default_factory=Settings)
    packets: list[Packet] = field(default_factory=list)
    updiscons: set[int] = field(default_factory=set)

    def encode(self, cycles: Sequence[Cycle]) -> list[Packet]:
        """All packets, from the support packet that trace begins with to the one that it ends with."""
        self.packets, self.updiscons = [], set()
        self._branches: list[int] = []
        self._last_address = 0
        self._count = 0  # packets since the last synchronisation
        self._begun = False  # the cycle before was traced, and is known to the decoder
        self._reported = False  # the trap of the cycle before has been told
        self._updiscon = False  # the instruction before was an uninferable discontinuity
        self._context_due = False
        self._passed: set[int] = set()  # addresses since the last packet
        self._open = False  # the last packet may mean an address that was passed before
        self._ending = ENDED_REPORTED
        self._losing = False
        self._at = 0
        self._support(NO_CHANGE)
        for number, cycle in enumerate(cycles):
            self._at = number
            losing = any(first <= number < end for first, end in self.settings.lost)
            if self._losing and not losing:
                self._losing = False
                self._support(LOST)
                self._begun = False
            self._losing = losing
            before = cycles[number - 1] if number else None
            after = cycles[number + 1] if number + 1 < len(cycles) else None
            if cycle.traced:
                self._step(before, cycle, after)
            elif self._begun:
                self._end()
            else:
                self._reported = self._updiscon = False
        self._at = len(cycles)
        if self._losing:
            self._losing = False
            self._support(LOST)
            self._begun = False
        if self._begun:
            self._end(enabled=False)
        return self.packets

    def _end(self, *, enabled: bool = True) -> None:
        self._support(self._ending, enabled=enabled)
        self._begun = self._reported = self._updiscon = False
        self._branches.clear()

    def _step(self, before: Cycle | None, cycle: Cycle, after: Cycle | None) -> None:
        """A cycle that is traced."""
        if cycle.kind in (Kind.TAKEN, Kind.NOT_TAKEN):
            self._branches.append(int(cycle.kind is Kind.NOT_TAKEN))
        due = before.trap if before is not None and not self._reported else None
        trapped = before is not None and before.trap is not None
        updiscon, self._updiscon = self._updiscon, self._is_updiscon(before, cycle)
        if self._updiscon:
            self.updiscons.add(self._at)
        self._reported = False
        self._ending = ENDED_REPORTED
        if cycle.trap_only:
            self._trap_only(cycle, due, updiscon=updiscon)
            return
        over = self._count > self.settings.resync if self.settings.resync is not None else False
        now = self._count == self.settings.resync
        moved = before is not None and _moves(before, cycle)
        if before is not None and cycle.context != before.context and not cycle.precise:
            self._context_due = True
        next_traced = after is not None and after.traced
        if due is not None:
            self._trap(cycle, due, handler=True)
        elif trapped or not self._begun or moved or over:
            self._start(cycle)
        elif updiscon:
            # A packet of format 3 follows at once.
            followed = cycle.trap is not None or now or (after is not None and (after.trap_only or _moves(cycle, after)))
            followed = followed or (self.settings.early and not next_traced)
            again = not followed and cycle.address in self._passed
            self._report(cycle, updiscon=followed)
            self._open = again
            self._ending = ENDED_REPORTED if followed else ENDED
        elif cycle.notify or cycle.trap is not None or (now and self._branches):
            self._report(cycle, notify=cycle.notify)
        elif after is None or not next_traced or after.trap_only or (_moves(cycle, after) and self._must_tell(cycle, after)):
            self._report(cycle)
        elif len(self._branches) == FULL_MAP:
            self._map()
        elif self._context_due:
            self._context(cycle)
        self._passed.add(cycle.address)
        self._begun = True

    def _must_tell(self, cycle: Cycle, after: Cycle) -> bool:
        """Whether a packet must come before the one of format 3.0 of the next instruction."""
        passed = after.address == cycle.address or after.address in self._passed
        return bool(self._branches) or self._open or (passed and after.privilege == cycle.privilege)

    def _is_updiscon(self, before: Cycle | None, cycle: Cycle) -> bool:
        if not cycle.retired or cycle.trap is not None:
            return False
        if cycle.kind is Kind.DISCONTINUITY and self.settings.sijump and cycle.sequential and self._begun:
            assert before is not None
            return not before.traced
        return cycle.kind in (Kind.DISCONTINUITY, Kind.TRAP_RETURN)

    def _trap_only(self, cycle: Cycle, due: Trap | None, *, updiscon: bool) -> None:
        assert cycle.trap is not None
        if due is not None:
            self._trap(cycle, due, handler=False)
        elif updiscon and self._begun:
            self._trap(cycle, cycle.trap, handler=False)
            self._reported = True

    def _send(self, layout: Layout, **about: object) -> None:
        if self._losing:
            return
        number, bits = packed(layout)
        self.packets.append(replace(Packet(compressed(number, bits), self._at), **about))  # type: ignore[arg-type]

    def _where(self, cycle: Cycle) -> Layout:
        settings = self.settings
        return [
            ("privilege", settings.privilege_width, cycle.privilege),
            ("time", settings.time_width, self._at & (1 << settings.time_width) - 1),
            ("context", settings.context_width, cycle.context & (1 << settings.context_width) - 1),
        ]

    def _address(self, address: int) -> tuple[str, int, int]:
        self._last_address = address
        width = layout_size(self.settings)
        return "address", width, address >> self.settings.address_lsb & (1 << width) - 1

    def _synchronised(self) -> None:
        self._told()
        self._count = 0
        self._context_due = False

    def _start(self, cycle: Cycle) -> None:
        branch = ("branch", 1, int(cycle.kind is not Kind.TAKEN))
        layout = [("format", 2, 3), ("subformat", 2, 0), branch, *self._where(cycle), self._address(cycle.address)]
        self._send(layout, reaches=self._at, sync=True)
        self._synchronised()

    def _trap(self, cycle: Cycle, trap: Trap, *, handler: bool) -> None:
        """``handler``: the cycle is the first instruction of the trap's handler."""
        epc = not handler and trap is cycle.trap and not trap.interrupt
        address = cycle.address if handler or epc else self.settings.undefined
        layout = [
            ("format", 2, 3), ("subformat", 2, 1), ("branch", 1, int(not handler or cycle.kind is not Kind.TAKEN)), *self._where(cycle),
            ("ecause", self.settings.ecause_width, trap.cause), ("interrupt", 1, int(trap.interrupt)), ("thaddr", 1, int(handler)),
            self._address(address),
        ]  # fmt: skip
        if not trap.interrupt:
            layout.append(("tval", self.settings.address_width, trap.tval))
        self._send(layout, reaches=self._at if handler else None, sync=handler, trap=trap, epc=epc)
        self._synchronised()

    def _report(self, cycle: Cycle, *, notify: bool = False, updiscon: bool = False) -> None:
        """Formats 1 and 2."""
        width = layout_size(self.settings)
        base = 0 if self.settings.full_address else self._last_address
        difference = (cycle.address - base) % (1 << self.settings.address_width) >> self.settings.address_lsb
        self._last_address = cycle.address
        bit = difference >> (width - 1)
        tail: Layout = [("address", width, difference)]
        for name, flag in (("notify", notify), ("updiscon", updiscon), ("irreport", False)):
            bit ^= flag
            tail.append((name, 1, bit))
        depth = self.settings.irdepth_width
        tail.append(("irdepth", depth, bit * ((1 << depth) - 1)))
        count = len(self._branches)
        begin: Layout = [("format", 2, 1), ("branches", 5, count), self._branch_map()] if count else [("format", 2, 2)]
        self._send([*begin, *tail], reaches=self._at)
        self._sent()

    def _map(self) -> None:
        """Format 1, 31 branches and no address."""
        self._send([("format", 2, 1), ("branches", 5, 0), self._branch_map()], reaches=self._at)
        self._sent()

    def _branch_map(self) -> tuple[str, int, int]:
        size = next(size for size in (1, 3, 7, 15, 31) if size >= len(self._branches))
        return "branch_map", size, sum(outcome << number for number, outcome in enumerate(self._branches))

    def _sent(self) -> None:
        self._told()
        self._count += 1

    def _told(self) -> None:
        self._branches.clear()
        self._passed.clear()
        self._open = False

    def _context(self, cycle: Cycle) -> None:
        self._send([("format", 2, 3), ("subformat", 2, 2), *self._where(cycle)])
        self._context_due = False

    def _support(self, status: int, *, enabled: bool = True) -> None:
        layout = [("format", 2, 3), ("subformat", 2, 3), ("ienable", 1, int(enabled)), ("encoder_mode", 1, 0), ("qual_status", 2, status)]
        self._send([*layout, ("ioptions", 5, self.settings.ioptions)], status=status)


def _moves(before: Cycle, cycle: Cycle) -> bool:
    """Whether a cycle is in another privilege level, or in a context that must be told with its first instruction."""
    return cycle.privilege != before.privilege or (cycle.context != before.context and cycle.precise)


def framed(packets: Iterable[Packet]) -> bytes:
    """Packets behind headers of one byte."""
    return b"".join(packet.framed for packet in packets)
