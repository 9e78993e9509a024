"""The recordings in ``fixtures/riscv`` as cycles of a hart."""

from __future__ import annotations

import functools
import lzma
from dataclasses import replace

from tests import ROOT
from tests.decoders.riscv import bits as riscv_bits
from tests.decoders.riscv.bits import Memory
from tests.decoders.riscv.etrace_encoder import Cycle, Kind, Trap

FOLDER = ROOT / "fixtures" / "riscv"
PROGRAMS = ("program", "program32")


@functools.cache
def memory(name: str) -> Memory:
    return Memory(FOLDER / f"{name}.elf")


@functools.cache
def cycles(name: str, *, calls_retire: bool = True, merged: bool = False) -> tuple[Cycle, ...]:
    """What the hart did.

    ``calls_retire``: ecall counts as retired, with its exception in the same cycle (harts differ). ``merged``: other traps are told in the
    cycle of the instruction before, where that can be.
    """
    code = memory(name)
    lines = [line.split() for line in lzma.decompress((FOLDER / f"{name}.steps.xz").read_bytes()).decode().splitlines()]
    found: list[Cycle] = []
    privilege = 3
    for number, parts in enumerate(lines):
        if parts[0] != "trap":
            privilege, address = int(parts[0]), int(parts[1], 16)
            found.append(_instruction(code, found, lines[number + 1 : number + 2], privilege, address))
            continue
        cause, epc, tval = (int(each, 16) for each in parts[2:])
        trap = Trap(cause, tval, parts[1] == "interrupt")
        last = found[-1]
        if not trap.interrupt and lines[number - 1][0] != "trap" and last.address == epc:
            # It was begun and did not retire.
            found.pop()
            if code.at(epc).kind == riscv_bits.SYSTEM_CALL and calls_retire:
                found.append(replace(last, trap=trap))
                continue
        last = found[-1]
        if merged and last.trap is None and last.kind is Kind.OTHER and last.address + code.at(last.address).size == epc:
            found[-1] = replace(last, trap=trap)
        else:
            found.append(Cycle(epc, privilege=privilege, retired=False, trap=trap))
    return tuple(found)


def _instruction(code: Memory, before: list[Cycle], following: list[list[str]], privilege: int, address: int) -> Cycle:
    """``following``: the line behind its own, if there is one."""
    here = code.at(address)
    on = address + here.size
    goes = None
    if following:
        (parts,) = following
        goes = int(parts[3 if parts[0] == "trap" else 1], 16)
        begun_alone = parts[0] == "trap" and goes == address
        assert goes == on or here.kind not in (riscv_bits.OTHER, riscv_bits.SYSTEM_CALL) or begun_alone, hex(address)
    kind = {
        riscv_bits.JUMP: Kind.JUMP, riscv_bits.REGISTER_JUMP: Kind.DISCONTINUITY, riscv_bits.TRAP_RETURN: Kind.TRAP_RETURN,
        riscv_bits.BRANCH: Kind.NOT_TAKEN if goes == on else Kind.TAKEN,
    }.get(here.kind, Kind.OTHER)  # fmt: skip
    last = before[-1] if before else None
    pair = (
        last is not None
        and last.retired
        and last.trap is None
        and code.at(last.address).loads == here.by != 0
        and last.address + code.at(last.address).size == address
    )
    return Cycle(address, kind, privilege, sequential=pair)
