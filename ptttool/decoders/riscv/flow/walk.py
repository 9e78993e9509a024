"""The way of a RISC-V hart through its program, as E-Trace packets tell it: which branches were taken, where jumps went.

Source: "Efficient Trace for RISC-V" 2.0, chapter "Decoder" (without return stack, branch predictor and jump target cache).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ptttool.decoders.riscv.flow.code import BRANCH, DISCONTINUITY, JUMP, ON, Block, Code, IllegalInstructionError, NoCodeError

# Why a way cannot be followed: packets and program do not agree, or the program ends.
NO_OUTCOME, OUTCOMES_LEFT, UNEXPECTED_JUMP = "no_outcome", "outcomes_left", "unexpected_jump"
ENDLESS_LOOP, ILLEGAL, NO_CODE = "endless_loop", "illegal_instruction", "no_code"
PROGRAM_ENDS = (ILLEGAL, NO_CODE)
# Where the way ends that a packet tells of: at its address, reached now or later again; at its address behind a discontinuity; at its
# address where it is reached first; at the last branch that it tells of; at a synchronisation in the same privilege level, in another one;
# where trace ended.
REPORTED, DISCONTINUED, NOTIFIED, LAST_BRANCH, SYNCHRONISED, MOVED, ENDED = range(7)
# Instructions one after the other without a branch or discontinuity between them: more go on for ever.
_MOST_INSTRUCTIONS = 1 << 16
# Ways that are kept, and ranges of all of them.
_MOST_WAYS, _MOST_RANGES = 1 << 16, 1 << 21


class _WalkError(Exception):
    """Packets and program do not agree: its text is why."""


@dataclass(frozen=True, slots=True)
class Range:
    """Instructions executed one after the other: addresses of the first, of the last and behind it, and how many.

    ``kind``, ``subtype``: of the last one, names of :mod:`~.elements`. ``conditional``: it is a branch. ``jumped``: it went elsewhere.
    """

    start: int
    last: int
    end: int
    count: int
    kind: str = "other"
    subtype: str = "none"
    conditional: bool = False
    jumped: bool = False


class Place(NamedTuple):
    """Where a hart is. ``block``: first address of the block it is in; ``open``: of the instructions that no range holds yet.

    ``pc``: of the instruction that was executed last, as far as is known. ``branches``: outcomes that are known and lie ahead, in
    ``outcomes`` (bit 0 is the next; 1 is not taken). ``inferred``: the packet may not have meant ``pc`` now, but when it is reached again.
    """

    block: int
    open: int
    pc: int
    branches: int = 0
    outcomes: int = 0
    inferred: bool = False


class Way(NamedTuple):
    """A way that was followed: numbers of its ranges, and where it ends. Without an end ``problem`` says why.

    Where the program ends (:data:`PROGRAM_ENDS`), the ranges are the way up to there; ``missing``: the address of which there is no code.
    """

    ranges: tuple[int, ...]
    end: Place | None
    problem: str | None = None
    missing: int = 0


class Walker:
    """Follows ways through one program. Ranges are numbers, of :attr:`ranges`, the same for the same one."""

    def __init__(self, code: Code, *, sequential_jumps: bool = False) -> None:
        self.code = code
        self.ranges: list[Range] = []
        self._numbers: dict[tuple[int, int, bool, bool], int] = {}  # by start, end, taken and whether the block ends there
        self._sequential = sequential_jumps
        # Programs go the same ways again and again.
        self._known: dict[tuple[Place, int, int, int, int], Way] = {}
        self._kept = 0

    def begin(self, address: int, outcome: int) -> Way:
        """At an address that a packet tells. ``outcome``: of the branch there, if there is one."""
        try:
            block = self.code.block(address)
        except NoCodeError:
            return Way((), None, NO_CODE, address)
        except IllegalInstructionError:
            return Way((), None, ILLEGAL)
        branches = int(block.has_branch_at(address))
        return Way((), Place(address, address, address, branches, outcome * branches))

    def follow(self, place: Place, address: int, way: int, branches: int = 0, outcomes: int = 0) -> Way:
        """On as a packet says. ``branches``: how many it tells of, and their ``outcomes``; of a synchronisation, that of a branch at its
        address, before which all that was executed is ranges then.
        """
        key = (place, address, way, branches, outcomes)
        found = self._known.get(key)
        if found is None:
            found = self._sync(*key) if way in (SYNCHRONISED, MOVED) else self._told(*key)
            if len(self._known) >= _MOST_WAYS or self._kept >= _MOST_RANGES:
                self._known.clear()
                self._kept = 0
            self._known[key] = found
            self._kept += len(found.ranges)
        return found

    def _sync(self, place: Place, address: int, way: int, _: int, outcome: int) -> Way:
        here = self.begin(address, outcome).end
        branches, outcomes = (0, 0) if here is None else (here.branches, here.outcomes)
        found = self._told(place._replace(inferred=False), address, way, branches, outcomes)
        if found.end is None:
            return found
        return Way((*found.ranges, *self._before(found.end)), found.end._replace(open=found.end.pc))

    def _told(self, place: Place, address: int, way: int, branches: int, outcomes: int) -> Way:
        ranges: list[int] = []
        place = place._replace(branches=place.branches + branches, outcomes=place.outcomes | outcomes << place.branches)
        try:
            end = self._walk(ranges, place, address, way)
            return Way(tuple(ranges), end)
        except _WalkError as error:
            return Way((), None, str(error))
        except IllegalInstructionError:
            return Way(tuple(ranges), None, ILLEGAL)
        except NoCodeError as error:
            return Way(tuple(ranges), None, NO_CODE, error.address)

    def _walk(self, ranges: list[int], place: Place, address: int, way: int) -> Place:
        """Adds ranges, and returns where the way ends. Raises _WalkError, NoCodeError, IllegalInstructionError."""
        first = place.pc  # where the way begins, and where it comes by again while that is inferred
        pc, opened, branches, outcomes, inferred = place.pc, place.open, place.branches, place.outcomes, place.inferred
        block, straight, to_branch = self.code.block(place.block), 0, way == LAST_BRANCH

        def here(*, again: bool = False) -> Place:
            return Place(block.start, opened, pc, branches, outcomes, again)

        while True:
            is_branch = block.way == BRANCH
            if not inferred:
                if pc < address <= block.last and not to_branch and self._ends(block, address, branches, way):
                    pc = address
                    return here(again=self._again(block, address, way))
                if pc < block.last and branches == 1 and is_branch and to_branch:
                    pc = block.last
                    return here()
            pc = block.last
            straight += len(block.addresses)
            taken, discontinued = block.way in (JUMP, DISCONTINUITY), False
            target = block.target if block.way == JUMP else block.end
            if is_branch:
                if not branches:
                    raise _WalkError(NO_OUTCOME)
                taken = not outcomes & 1
                branches, outcomes, straight = branches - 1, outcomes >> 1, 0
                target = block.target if taken else block.end
            elif block.way == DISCONTINUITY:
                if self._sequential and block.sequential is not None:
                    target = block.sequential
                elif inferred:
                    target, discontinued = first, True
                elif to_branch:
                    raise _WalkError(UNEXPECTED_JUMP)
                else:
                    target, discontinued = address, True
                straight = 0 if discontinued else straight
            if straight > _MOST_INSTRUCTIONS:
                raise _WalkError(ENDLESS_LOOP)
            ranges.append(self._number(block, opened, taken=taken))
            pc = opened = target
            block = self.code.block(target)
            if inferred:
                inferred = not discontinued
                if not inferred and way == ENDED:
                    return here()
                continue
            at_branch = block.has_branch_at(pc)
            if branches == 1 and at_branch and to_branch:
                return here()
            if discontinued:
                if branches != at_branch:
                    raise _WalkError(OUTCOMES_LEFT if branches else NO_OUTCOME)
                return here()
            if pc == address and not to_branch and self._ends(block, pc, branches, way):
                return here(again=self._again(block, pc, way))

    @staticmethod
    def _ends(block: Block, address: int, branches: int, way: int) -> bool:
        """Whether the way ends at an address that has been reached without a discontinuity."""
        if way in (DISCONTINUED, MOVED, ENDED) or address not in block.addresses:
            return False
        return branches == block.has_branch_at(address)

    @staticmethod
    def _again(block: Block, address: int, way: int) -> bool:
        """Whether it may be reached again: at a branch, the outcomes have told."""
        return way == REPORTED and not block.has_branch_at(address)

    def rest(self, place: Place) -> tuple[int, ...]:
        """What has been executed up to a place and is no range yet: no packet follows on."""
        block = self.code.block(place.block)
        if place.pc != block.last:
            return self._part(block, place.open, place.pc, block.after(place.pc))
        taken = not place.outcomes & 1 if block.way == BRANCH else block.way in (JUMP, DISCONTINUITY)
        if block.way == BRANCH and not place.branches:  # it was reached, and nothing is known of it
            return self._part(block, place.open, place.pc, block.end)
        return (self._number(block, place.open, taken=taken),)

    def next(self, place: Place) -> int | None:
        """Where the program goes from a place; None where it does not tell."""
        block = self.code.block(place.block)
        if place.pc != block.last:
            return block.after(place.pc)
        if block.way == DISCONTINUITY:
            if block.system_call:
                return block.last
            return block.sequential if self._sequential else None
        if block.way == BRANCH:
            if not place.branches:
                return None
            return block.end if place.outcomes & 1 else block.target
        return block.target if block.way == JUMP else block.end

    def is_discontinuity(self, place: Place) -> bool:
        """Whether the last instruction is one from which the program does not tell where it goes; system calls only ever trap."""
        block = self.code.block(place.block)
        known = self._sequential and block.sequential is not None
        return block.way == DISCONTINUITY and place.pc == block.last and not known and not block.system_call

    def _before(self, place: Place) -> tuple[int, ...]:
        """What is no range yet, without the last instruction."""
        if place.open == place.pc:
            return ()
        block = self.code.block(place.block)
        return self._part(block, place.open, block.addresses[block.addresses.index(place.pc) - 1], place.pc)

    def _part(self, block: Block, start: int, last: int, end: int) -> tuple[int, ...]:
        """A range that ends before its block does, or at a branch of which nothing is known."""
        count = block.addresses.index(last) - block.addresses.index(start) + 1
        return (self._add((start, end, False, False), Range(start, last, end, count)),)

    def _number(self, block: Block, start: int, *, taken: bool) -> int:
        """The range from ``start`` to the block's end."""
        key = (start, block.end, taken, True)
        if key in self._numbers:
            return self._numbers[key]
        count = len(block.addresses) - block.addresses.index(start)
        kind, subtype = "other", "none"
        if block.way != ON and not block.system_call:
            kind = "br_indirect" if block.way == DISCONTINUITY else "br"
            subtype = "br_link" if block.link else "return" if block.back else "trap_return" if block.trap_return else "none"
        return self._add(key, Range(start, block.last, block.end, count, kind, subtype, block.way == BRANCH, taken))

    def _add(self, key: tuple[int, int, bool, bool], found: Range) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.ranges)
            self.ranges.append(found)
        return self._numbers[key]
