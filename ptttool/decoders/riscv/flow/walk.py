"""The path of a RISC-V hart through its program, as E-Trace packets report it: which branches were taken, where jumps went.

Source: "Efficient Trace for RISC-V" 2.0, chapter "Decoder". A single walk is in :mod:`~.steps`.
"""

from __future__ import annotations

from typing import NamedTuple

from ptttool.decoders.riscv.flow.code import Code, Exit
from ptttool.decoders.riscv.flow.problems import Problem, WalkError
from ptttool.decoders.riscv.flow.ranges import Ranges
from ptttool.decoders.riscv.flow.steps import FlowWalk, Goal, Position

PROGRAM_ENDS = (Problem.ILLEGAL, Problem.NO_CODE)
# Walks that are kept, and ranges of all of them.
_MOST_WALKS, _MOST_RANGES = 1 << 16, 1 << 21


class Executed(NamedTuple):
    """What was executed up to a packet.

    Parameters
    ----------
    ranges : tuple of int
        Numbers of the ranges. Where the program ends, they lead up to there.
    end : Position or None
        Where the hart is then; None if it cannot be followed.
    problem : Problem or None
        Why it cannot be followed.
    missing : int
        The address that the program has no code for.
    """

    ranges: tuple[int, ...]
    end: Position | None
    problem: Problem | None = None
    missing: int = 0


class Walker:
    """Follows harts through one program.

    Parameters
    ----------
    code : Code
        The program.
    sequential_jumps : bool
        Whether packets leave out the targets of jumps that the instruction before tells.

    Attributes
    ----------
    ranges : Ranges
        All ranges so far.
    """

    def __init__(self, code: Code, *, sequential_jumps: bool = False) -> None:
        self.code = code
        self.ranges = Ranges(code.program)
        self._sequential = sequential_jumps
        # Programs take the same paths again and again.
        self._known: dict[tuple[Position, int, int, int, int], Executed] = {}
        self._kept = 0

    def forget(self) -> None:
        """Forget all ranges and walks: ranges found later have numbers from 0 on."""
        self.ranges = Ranges(self.code.program)
        self._known.clear()
        self._kept = 0

    def begin(self, address: int, outcome: int) -> Executed:
        """Begin at an address that a packet reports; `outcome` is that of the branch there, if there is one."""
        try:
            block = self.code.block(address)
        except WalkError as error:
            return Executed((), None, error.problem, error.missing)
        branches = int(block.has_branch_at(address))
        return Executed((), Position(address, address, address, branches, outcome * branches))

    def follow(self, position: Position, address: int, goal: int, branches: int = 0, outcomes: int = 0) -> Executed:
        """Go on as a packet says.

        Parameters
        ----------
        position : Position
            Where the hart is.
        address : int
            Address of the packet.
        goal : Goal
            What the packet reports.
        branches, outcomes : int
            How many branches the packet reports, and their outcomes; for a synchronisation, the outcome of the branch at its address.
        """
        key = (position, address, goal, branches, outcomes)
        walk = self._known.get(key)
        if walk is None:
            walk = self._synchronise(*key) if goal in (Goal.SYNCHRONISED, Goal.MOVED) else self._go(*key)
            if len(self._known) >= _MOST_WALKS or self._kept >= _MOST_RANGES:
                self._known.clear()
                self._kept = 0
            self._known[key] = walk
            self._kept += len(walk.ranges)
        return walk

    def _synchronise(self, position: Position, address: int, goal: int, _: int, outcome: int) -> Executed:
        """Go to a synchronisation; all that was executed before its address is in ranges then."""
        here = self.begin(address, outcome).end
        branches, outcomes = (0, 0) if here is None else (here.branches, here.outcomes)
        walk = self._go(position._replace(inferred=False), address, goal, branches, outcomes)
        if walk.end is None:
            return walk
        return Executed((*walk.ranges, *self._before(walk.end)), walk.end._replace(open=walk.end.pc))

    def _go(self, position: Position, address: int, goal: int, branches: int, outcomes: int) -> Executed:
        ranges: list[int] = []
        start = position._replace(branches=position.branches + branches, outcomes=position.outcomes | outcomes << position.branches)
        try:
            end = FlowWalk(self.code, start, address, goal, sequential=self._sequential, ranges=self.ranges, numbers=ranges).run()
            return Executed(tuple(ranges), end)
        except WalkError as error:
            return Executed(tuple(ranges) if error.problem in PROGRAM_ENDS else (), None, error.problem, error.missing)

    def rest(self, position: Position) -> tuple[int, ...]:
        """Return the range of what was executed up to a position and is in no range yet: no packet follows."""
        block = self.code.block(position.block)
        if position.pc != block.last:
            return (self.ranges.part(block, position.open, position.pc, block.after(position.pc)),)
        if block.exit == Exit.BRANCH and not position.branches:  # it was reached, and its outcome is unknown
            return (self.ranges.part(block, position.open, position.pc, block.end),)
        taken = not position.outcomes & 1 if block.exit == Exit.BRANCH else block.exit != Exit.ON
        return (self.ranges.whole(block, position.open, taken=taken),)

    def next(self, position: Position) -> int | None:
        """Return where the program goes from a position; None where it does not say."""
        block = self.code.block(position.block)
        if position.pc != block.last:
            return block.after(position.pc)
        if block.exit == Exit.DISCONTINUITY:
            if block.system_call:
                return block.last
            return block.sequential if self._sequential else None
        if block.exit == Exit.BRANCH:
            if not position.branches:
                return None
            return block.end if position.outcomes & 1 else block.target
        return block.target if block.exit == Exit.JUMP else block.end

    def is_discontinuity(self, position: Position) -> bool:
        """Whether the program does not say where the last instruction goes; a system call always traps."""
        block = self.code.block(position.block)
        sequential = self._sequential and block.sequential is not None
        return block.exit == Exit.DISCONTINUITY and position.pc == block.last and not sequential and not block.system_call

    def _before(self, position: Position) -> tuple[int, ...]:
        """Return the range of what is in no range yet, without the last instruction."""
        if position.open == position.pc:
            return ()
        block = self.code.block(position.block)
        return (self.ranges.part(block, position.open, block.addresses[block.addresses.index(position.pc) - 1], position.pc),)
