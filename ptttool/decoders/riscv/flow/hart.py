"""One RISC-V hart, packet by packet: where it is in its program, and what that tells."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ptttool.decoders.element_batch import I64
from ptttool.decoders.riscv.etrace.setup import Setup
from ptttool.decoders.riscv.flow.walk import ENDED, MOVED, PROGRAM_ENDS, SYNCHRONISED, Place, Walker, Way

# Why a way is not followed, beside what :mod:`~.riscv_walk` meets.
BAD_PACKET, IMPLICIT_RETURN, IMPLICIT_EXCEPTION = "bad_packet", "implicit_return", "implicit_exception"
BRANCH_PREDICTION, JUMP_TARGET_CACHE = "branch_prediction", "jump_target_cache"
_TRACE_ENDED = 3  # qual_status: there is nothing that was not reported


@dataclass
class Told:
    """Elements beside the packets' own.

    ``ranges``: numbers of ranges; ``pieces``: for each packet that has some, and place, its :meth:`order`, and ``counts`` how many.
    ``failed``: packets that cannot be followed, why, and the address of which there is no code. ``returns``: packets of exceptions, with
    the address that the program was at.
    """

    ranges: list[int] = field(default_factory=list)
    pieces: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    failed: list[tuple[int, str, int]] = field(default_factory=list)
    returns: dict[int, int] = field(default_factory=dict)

    def add(self, packet: int, ranges: tuple[int, ...], *, early: bool) -> None:
        """Ranges. ``early``: they come before the packet's own elements."""
        if ranges:
            self.ranges += ranges
            self.pieces.append(4 * packet + (0 if early else 2))
            self.counts.append(len(ranges))

    def order(self) -> I64:
        """Offsets of the ranges, then of the failures, among the packets' own elements, which have 4 * packet + 1."""
        pieces = np.repeat(np.array(self.pieces, dtype=np.int64), np.array(self.counts, dtype=np.int64))
        return np.concatenate([pieces, np.array([4 * packet + 3 for packet, _, _ in self.failed], dtype=np.int64)])


class Hart:
    """Where one hart is, packet by packet. ``place``: None until a packet tells where trace begins, and after what cannot be followed."""

    def __init__(self, setup: Setup, walker: Walker) -> None:
        self._setup, self._walker = setup, walker
        self.forget()
        self._implicit_returns = self._bit(setup.initial, setup.implicit_return_bit)
        self._refused = False  # that has been told

    def forget(self) -> None:
        """Wait for a packet that tells where trace begins."""
        self.place: Place | None = None
        self._trapped = False
        self._privilege = 0

    @staticmethod
    def _bit(options: int, bit: int) -> bool:
        return bit >= 0 and bool(options >> bit & 1)

    def rest(self) -> tuple[int, ...]:
        """What has been executed and is no range yet; at a trap, everything is one."""
        return () if self.place is None or self._trapped else self._walker.rest(self.place)

    def lose(self, packet: int, problem: str, told: Told) -> None:
        """Say once why the way cannot be followed; what has been executed before that stays."""
        if self.place is not None:
            told.add(packet, self.rest(), early=True)
            told.failed.append((packet, problem, 0))
        self.place = None

    def _take(self, packet: int, way: Way, told: Told, *, early: bool) -> None:
        if way.end is None and way.problem not in PROGRAM_ENDS:
            told.add(packet, self.rest(), early=True)
        told.add(packet, way.ranges, early=early)
        self.place = way.end
        if way.end is None:
            assert way.problem is not None
            told.failed.append((packet, way.problem, way.missing))

    def go(self, packet: int, address: int, way: int, branches: int, outcomes: int, told: Told) -> None:
        """Formats 1 and 2, as :meth:`Walker.follow` wants it."""
        if self.place is None:
            return
        if self._trapped:  # nothing goes on before the trap's handler
            self.lose(packet, BAD_PACKET, told)
            return
        self._take(packet, self._walker.follow(self.place, address, way, branches, outcomes), told, early=False)

    def start(self, packet: int, address: int, outcome: int, privilege: int, told: Told) -> None:
        """Format 3.0."""
        if self._implicit_returns:
            self._refuse(packet, told)
            return
        if self.place is None or self._trapped:
            way = self._walker.begin(address, outcome)
        else:
            way = self._walker.follow(self.place, address, SYNCHRONISED if privilege == self._privilege else MOVED, 0, outcome)
        self._trapped, self._privilege = False, privilege
        self._take(packet, way, told, early=True)
        if self.place is None:  # the way there is not known: it begins here
            self.place = self._walker.begin(address, outcome).end

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
        self._trapped, self._privilege = True, privilege
        if handler and address is None:
            self.lose(packet, IMPLICIT_EXCEPTION, told)
        elif handler and address is not None:
            self._trapped = False
            self._take(packet, self._walker.begin(address, outcome), told, early=False)

    def support(self, packet: int, status: int, options: int | None, told: Told) -> None:
        """Format 3.3. ``options``: None where it has none."""
        if status and self.place is not None:
            if status == _TRACE_ENDED and self.place.inferred and not self._trapped:
                way = self._walker.follow(self.place, 0, ENDED)
                if way.end is not None:
                    told.add(packet, way.ranges, early=True)
                    self.place = way.end
            told.add(packet, self.rest(), early=True)
            self.place = None
        if status:
            self._trapped = False
        if options is not None:
            self._implicit_returns = self._bit(options, self._setup.implicit_return_bit)
        if self._implicit_returns:
            self._refuse(packet, told)
        else:
            self._refused = False

    def _refuse(self, packet: int, told: Told) -> None:
        """Returns are left out: nothing can be followed while that is so."""
        told.add(packet, self.rest(), early=True)
        self.place = None
        if not self._refused:
            told.failed.append((packet, IMPLICIT_RETURN, 0))
        self._refused = True
