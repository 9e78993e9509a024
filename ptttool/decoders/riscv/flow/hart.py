"""One RISC-V hart, packet by packet: where it is in its program, and what it executed."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field

from ptttool.decoders.elements.arrays import I64
from ptttool.decoders.riscv.etrace.bits import bit_of
from ptttool.decoders.riscv.etrace.setup import EtraceSettings
from ptttool.decoders.riscv.flow.problems import Problem
from ptttool.decoders.riscv.flow.steps import Goal, Position
from ptttool.decoders.riscv.flow.walk import PROGRAM_ENDS, Executed, Walker

_TRACE_ENDED = 3  # qual_status: trace ended, and everything was reported


class Report(Struct):
    """Elements besides those of the packets themselves.

    Parameters
    ----------
    ranges : list of int
        Numbers of ranges.
    orders, counts : list of int
        Each run of ranges: where it is among the elements, as in :meth:`order`, and how many ranges it has.
    failed : list of tuple
        Packets that cannot be followed, why, and the address that the program has no code for.
    returns : dict of int to int
        Packets of exceptions, with the address that the program was at.
    """

    ranges: list[int] = field(default_factory=list)
    orders: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    failed: list[tuple[int, Problem, int]] = field(default_factory=list)
    returns: dict[int, int] = field(default_factory=dict)

    def add(self, packet: int, ranges: tuple[int, ...], *, early: bool) -> None:
        """Add ranges of a packet; `early` ones come before the packet's own elements, others after them."""
        if ranges:
            self.ranges += ranges
            self.orders.append(4 * packet + (0 if early else 2))
            self.counts.append(len(ranges))

    def order(self) -> I64:
        """Return where the ranges, then the failures, are among the elements of packets, which have 4 * packet + 1."""
        ranges = np.repeat(np.array(self.orders, dtype=np.int64), np.array(self.counts, dtype=np.int64))
        return np.concatenate([ranges, np.array([4 * packet + 3 for packet, _, _ in self.failed], dtype=np.int64)])


class Hart:
    """Follows one hart.

    Parameters
    ----------
    settings : EtraceSettings
        Parameters of its encoder.
    walker : Walker
        Follows the program.

    Attributes
    ----------
    position : Position or None
        Where the hart is; None until a packet says where trace begins, and after a packet that cannot be followed.
    """

    def __init__(self, settings: EtraceSettings, walker: Walker) -> None:
        self._settings, self._walker = settings, walker
        self.forget()
        self._implicit_returns = bit_of(settings.ioptions, settings.implicit_return_bit)
        self._refused = False  # it is reported once that returns are left out

    def forget(self) -> None:
        """Wait for a packet that says where trace begins."""
        self.position: Position | None = None
        self._trapped = False
        self._privilege = 0

    def rest(self) -> tuple[int, ...]:
        """Return the range of what was executed and is in no range yet; at a trap, everything is in one."""
        return () if self.position is None or self._trapped else self._walker.rest(self.position)

    def lose(self, packet: int, problem: Problem, report: Report) -> None:
        """Report once why the program cannot be followed; what was executed before stays."""
        if self.position is not None:
            report.add(packet, self.rest(), early=True)
            report.failed.append((packet, problem, 0))
        self.position = None

    def _take(self, packet: int, executed: Executed, report: Report, *, early: bool) -> None:
        if executed.end is None and executed.problem not in PROGRAM_ENDS:
            report.add(packet, self.rest(), early=True)
        report.add(packet, executed.ranges, early=early)
        self.position = executed.end
        if executed.end is None:
            assert executed.problem is not None
            report.failed.append((packet, executed.problem, executed.missing))

    def go(self, packet: int, address: int, goal: int, branches: int, outcomes: int, report: Report) -> None:
        """Take a packet of format 1 or 2; arguments as in :meth:`Walker.follow`."""
        if self.position is None:
            return
        if self._trapped:  # only the trap's handler may follow
            self.lose(packet, Problem.BAD_PACKET, report)
            return
        self._take(packet, self._walker.follow(self.position, address, goal, branches, outcomes), report, early=False)

    def start(self, packet: int, address: int, outcome: int, privilege: int, report: Report) -> None:
        """Take a packet of format 3.0."""
        if self._implicit_returns:
            self._refuse(packet, report)
            return
        if self.position is None or self._trapped:
            executed = self._walker.begin(address, outcome)
        else:
            goal = Goal.SYNCHRONISED if privilege == self._privilege else Goal.MOVED
            executed = self._walker.follow(self.position, address, goal, 0, outcome)
        self._trapped, self._privilege = False, privilege
        self._take(packet, executed, report, early=True)
        if self.position is None:  # the path to it is unknown: it begins here
            self.position = self._walker.begin(address, outcome).end

    def trap(
        self, packet: int, address: int | None, outcome: int, privilege: int, *, handler: bool, interrupt: bool, report: Report
    ) -> None:
        """Take a packet of format 3.1.

        Parameters
        ----------
        handler : bool
            Whether the address is that of the trap's handler; otherwise only exceptions use it.
        """
        if self.position is not None and not self._trapped:
            back = self._walker.next(self.position)
            if self._walker.is_discontinuity(self.position) and not handler and not interrupt:
                back = address
            if back is not None:
                report.returns[packet] = back
            report.add(packet, self.rest(), early=True)
        if self._implicit_returns:
            return
        self._trapped, self._privilege = True, privilege
        if handler and address is None:
            self.lose(packet, Problem.IMPLICIT_EXCEPTION, report)
        elif handler and address is not None:
            self._trapped = False
            self._take(packet, self._walker.begin(address, outcome), report, early=False)

    def support(self, packet: int, status: int, options: int | None, report: Report) -> None:
        """Take a packet of format 3.3; `options` is None where the encoder has none."""
        if status and self.position is not None:
            if status == _TRACE_ENDED and self.position.inferred and not self._trapped:
                executed = self._walker.follow(self.position, 0, Goal.ENDED)
                if executed.end is not None:
                    report.add(packet, executed.ranges, early=True)
                    self.position = executed.end
            report.add(packet, self.rest(), early=True)
            self.position = None
        if status:
            self._trapped = False
        if options is not None:
            self._implicit_returns = bit_of(options, self._settings.implicit_return_bit)
        if self._implicit_returns:
            self._refuse(packet, report)
        else:
            self._refused = False

    def _refuse(self, packet: int, report: Report) -> None:
        """Report once that the encoder leaves returns out: the program cannot be followed while it does."""
        report.add(packet, self.rest(), early=True)
        self.position = None
        if not self._refused:
            report.failed.append((packet, Problem.IMPLICIT_RETURN, 0))
        self._refused = True
