"""One walk through a program, block by block, from a position to where a packet says that it ends.

Source: "Efficient Trace for RISC-V" 2.0, chapter "Decoder" (without return stack, branch predictor and jump target cache).
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from ptttool.decoders.budget import MAX_RANGES_FREE
from ptttool.decoders.riscv.flow.code import Code, Exit
from ptttool.decoders.riscv.flow.problems import Problem, WalkError
from ptttool.decoders.riscv.flow.ranges import Ranges

# Instructions without a branch or discontinuity between them; more of them are an endless loop. A jump counts as several: no program
# has hundreds of jumps in a row, and following them takes as long as following the instructions of long blocks.
_MOST_INSTRUCTIONS, _JUMP = 1 << 16, 1 << 8


class Goal(IntEnum):
    """Where a walk ends."""

    REPORTED = 0  # at the packet's address, reached now or later again
    DISCONTINUED = 1  # at its address, behind a discontinuity
    NOTIFIED = 2  # at its address, where it is reached first
    LAST_BRANCH = 3  # at the last branch that has an outcome
    SYNCHRONISED = 4  # at a synchronisation in the same privilege level
    MOVED = 5  # at a synchronisation in another privilege level
    ENDED = 6  # where trace ended


class Position(NamedTuple):
    """Where a hart is in its program.

    Parameters
    ----------
    block : int
        First address of the block it is in.
    open : int
        Address of the first instruction that no range holds yet.
    pc : int
        Address of the instruction that was executed last, as far as that is known.
    branches : int
        How many branches ahead have a known outcome.
    outcomes : int
        These outcomes: bit 0 is that of the next branch; 1 is not taken.
    inferred : bool
        Whether the packet may have meant a later visit of `pc`.
    """

    block: int
    open: int
    pc: int
    branches: int = 0
    outcomes: int = 0
    inferred: bool = False


class FlowWalk:
    """One walk.

    Parameters
    ----------
    code : Code
        The program.
    start : Position
        Where it begins.
    address : int
        Address of the packet.
    goal : Goal
        Where the walk ends.
    sequential : bool
        Whether packets leave out the targets of jumps that the instruction before tells.
    ranges : Ranges
        All ranges of the program so far.
    numbers : list of int
        The numbers of the ranges that are executed are added to it.
    """

    __slots__ = (
        "_address", "_block", "_branches", "_code", "_first", "_goal", "_inferred", "_numbers", "_opened", "_outcomes", "_pc",
        "_ranges", "_sequential", "_straight", "_to_branch",
    )  # fmt: skip

    def __init__(
        self,
        code: Code,
        start: Position,
        address: int,
        goal: int,
        *,
        sequential: bool,
        ranges: Ranges,
        numbers: list[int],
    ) -> None:
        self._code, self._address, self._goal = code, address, goal
        self._sequential, self._ranges, self._numbers = sequential, ranges, numbers
        self._to_branch = goal == Goal.LAST_BRANCH
        self._block = code.block(start.block)
        self._opened, self._pc = start.open, start.pc
        self._branches, self._outcomes = start.branches, start.outcomes
        # While the position is inferred, the walk goes on to the next visit of its first address.
        self._first, self._inferred = start.pc, start.inferred
        self._straight = 0

    def run(self) -> Position:
        """Walk to the end.

        Raises
        ------
        WalkError
            Packets and program do not agree, or the program ends.
        """
        while True:
            end = None if self._inferred else self._end_in_block()
            if end is None:
                discontinued = self._leave_block()
                end = self._end_on_arrival(discontinued)
            if end is not None:
                return end

    def _here(self, *, inferred: bool = False) -> Position:
        return Position(self._block.start, self._opened, self._pc, self._branches, self._outcomes, inferred)

    def _end_in_block(self) -> Position | None:
        """Return where the walk ends before its block does; None if it goes on."""
        block = self._block
        if self._to_branch:
            if self._pc < block.last and self._branches == 1 and block.exit == Exit.BRANCH:
                self._pc = block.last
                return self._here()
        elif self._pc < self._address <= block.last and self._ends_at_address():
            self._pc = self._address
            return self._here(inferred=self._may_come_again())
        return None

    def _leave_block(self) -> bool:
        """Execute the rest of the block, and go to the next; return whether the packet's address says which that is."""
        block = self._block
        self._straight += max(len(block.addresses), _JUMP)
        discontinued = False
        if block.exit == Exit.BRANCH:
            taken = self._take_outcome()
            target = block.target if taken else block.end
        elif block.exit == Exit.DISCONTINUITY:
            taken = True
            target, discontinued = self._target()
        else:
            taken = block.exit == Exit.JUMP
            target = block.target if taken else block.end
        if self._straight > _MOST_INSTRUCTIONS:
            raise WalkError(Problem.ENDLESS_LOOP)
        if len(self._numbers) >= MAX_RANGES_FREE:
            raise WalkError(Problem.OVER_BUDGET)
        self._numbers.append(self._ranges.whole(block, self._opened, taken=taken))
        self._pc = self._opened = target
        self._block = self._code.block(target)
        return discontinued

    def _take_outcome(self) -> bool:
        """Return whether the next branch is taken."""
        if not self._branches:
            raise WalkError(Problem.NO_OUTCOME)
        taken = not self._outcomes & 1
        self._branches, self._outcomes, self._straight = self._branches - 1, self._outcomes >> 1, 0
        return taken

    def _target(self) -> tuple[int, bool]:
        """Return the target of a discontinuity, and whether it is known only from the packet."""
        if self._sequential and self._block.sequential is not None:
            return self._block.sequential, False
        if self._to_branch and not self._inferred:
            raise WalkError(Problem.UNEXPECTED_JUMP)
        self._straight = 0
        return (self._first if self._inferred else self._address), True

    def _end_on_arrival(self, discontinued: bool) -> Position | None:
        """Return where the walk ends if that is the first instruction of a block; None if it goes on."""
        if self._inferred:
            self._inferred = not discontinued
            return self._here() if discontinued and self._goal == Goal.ENDED else None
        at_branch = self._block.has_branch_at(self._pc)
        if self._to_branch and self._branches == 1 and at_branch:
            return self._here()
        if discontinued:
            if self._branches != at_branch:
                raise WalkError(Problem.OUTCOMES_LEFT if self._branches else Problem.NO_OUTCOME)
            return self._here()
        if self._pc == self._address and not self._to_branch and self._ends_at_address():
            return self._here(inferred=self._may_come_again())
        return None

    def _ends_at_address(self) -> bool:
        """Whether the walk ends at the packet's address, now that it is reached without a discontinuity."""
        if self._goal in (Goal.DISCONTINUED, Goal.MOVED, Goal.ENDED) or self._address not in self._block.addresses:
            return False
        return self._branches == self._block.has_branch_at(self._address)

    def _may_come_again(self) -> bool:
        """Whether the packet may mean a later visit of its address; at a branch the outcomes say which visit it is."""
        return self._goal == Goal.REPORTED and not self._block.has_branch_at(self._address)
