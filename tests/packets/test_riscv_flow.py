"""The flow of RISC-V programs: recordings of a hart, encoded, must come back instruction by instruction."""

from __future__ import annotations

import lzma
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from ptttool.packets.elements import Element
from tests.packets.etrace_encoder import Cycle, Encoder, Packet, Settings, framed
from tests.packets.flow_checks import addresses, check_flow, check_traps, retired, told_up_to
from tests.packets.recorded import FOLDER, PROGRAMS, cycles, memory
from tests.packets.streams import Stream, elements

every_program = pytest.mark.parametrize("name", PROGRAMS)
WIDTHS = {"program": 64, "program32": 32}


def decoded(name: str, packets: Sequence[Packet], settings: Settings, **parameters: str) -> list[Element]:
    given = {"elf": str(FOLDER / f"{name}.elf"), **settings.parameters(), **parameters}
    return elements("riscv-flow", Stream(framed(packets), given))


def epcs(name: str) -> list[int]:
    """Of each trap what the hart had in its register."""
    lines = lzma.decompress((FOLDER / f"{name}.steps.xz").read_bytes()).decode().splitlines()
    return [int(line.split()[3], 16) for line in lines if line.startswith("trap")]


def settings_of(name: str, **changes: object) -> Settings:
    return replace(Settings(address_width=WIDTHS[name]), **changes)  # type: ignore[arg-type]


SETTINGS: dict[str, dict[str, object]] = {
    "plain": {},
    "full addresses": {"full_address": True},
    "synchronised after every packet": {"resync": 0},
    "synchronised after 1 packet": {"resync": 1},
    "synchronised after 2 packets": {"resync": 2, "full_address": True},
    "synchronised after 9 packets": {"resync": 9, "context_width": 12, "time_width": 20},
    "synchronised after 200 packets": {"resync": 200, "irdepth_width": 7},
    "sequentially inferable jumps": {"sijump": True},
    "sequentially inferable jumps, synchronised": {"sijump": True, "resync": 3},
    "address fields of anything": {"undefined": 0xDEADBEEE, "privilege_width": 3, "ecause_width": 6},
}


@every_program
@pytest.mark.parametrize("changes", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("hart", [{}, {"calls_retire": False}, {"merged": True}], ids=["calls retire", "calls do not", "merged"])
def test_a_recording(name: str, changes: dict[str, object], hart: dict[str, bool]) -> None:
    settings = settings_of(name, **changes)
    done = cycles(name, **hart)
    packets = Encoder(settings).encode(done)
    found = decoded(name, packets, settings)
    check_flow(found, done, memory(name))
    check_traps(found, packets, done, epcs(name))


@every_program
def test_recordings_have_what_they_are_for(name: str) -> None:
    """Interrupts right behind a jump by a register, two traps with nothing between them, user mode, branch maps of 31."""
    done = cycles(name)
    packets = Encoder(settings_of(name)).encode(done)
    traps = [packet for packet in packets if packet.trap is not None]
    assert sum(not packet.sync and packet.trap is not None and packet.trap.interrupt for packet in traps) >= 3
    assert sum(packet.epc for packet in traps) == 2  # exceptions behind a jump by a register, behind mret
    assert any(one.trap is not None and two.trap_only for one, two in zip(done, done[1:], strict=False))
    assert {cycle.privilege for cycle in done} == {0, 3}
    assert any(packet.payload[0] & 0x7F == 1 for packet in packets)
    assert sum(cycle.sequential for cycle in done) == (2 if name == "program" else 3)
    assert len(done) > 40_000


def stretches(done: Sequence[Cycle], seed: int, longest: int) -> list[Cycle]:
    """Traced now and then."""
    chance, changed, traced = random.Random(seed), [], True
    while len(changed) < len(done):
        size = chance.randint(1, longest)
        changed += [replace(cycle, traced=traced) for cycle in done[len(changed) : len(changed) + size]]
        traced = not traced
    return changed


FILTERS: dict[str, Callable[[Sequence[Cycle]], list[Cycle]]] = {
    "short stretches": lambda done: stretches(done[:9000], 1, 8),
    "stretches": lambda done: stretches(done, 2, 90),
    "long stretches": lambda done: stretches(done, 3, 3000),
    "user mode alone": lambda done: [replace(cycle, traced=cycle.privilege == 0) for cycle in done],
    "machine mode alone": lambda done: [replace(cycle, traced=cycle.privilege == 3) for cycle in done],
    "one function": lambda done: [replace(cycle, traced=0x8000_0170 <= cycle.address < 0x8000_01A0) for cycle in done],
}


@every_program
@pytest.mark.parametrize("choose", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("early", [False, True], ids=["known late", "known early"])
@pytest.mark.parametrize("resync", [None, 4])
def test_trace_that_is_switched_off_and_on(
    name: str, choose: Callable[[Sequence[Cycle]], list[Cycle]], early: bool, resync: int | None
) -> None:
    settings = settings_of(name, early=early, resync=resync)
    for hart in ({}, {"calls_retire": False}):
        done = choose(cycles(name, **hart))
        packets = Encoder(settings).encode(done)
        found = decoded(name, packets, settings)
        check_flow(found, done, memory(name))
        statuses = {packet.status for packet in packets}
        assert statuses >= {0, 1}


@every_program
def test_both_ways_that_trace_ends(name: str) -> None:
    """Where trace ends right behind a jump by a register, qual_status says so, or the packet before it does."""
    done = cycles(name)
    ends = {number for number, cycle in enumerate(done) if number % 11 == 0 and done[number - 1].kind.name == "DISCONTINUITY"}
    chosen = [replace(cycle, traced=number - 1 not in ends) for number, cycle in enumerate(done)]
    for early, status in ((False, 3), (True, 1)):
        settings = settings_of(name, early=early)
        packets = Encoder(settings).encode(chosen)
        assert sum(packet.status == status for packet in packets) > 100
        check_flow(decoded(name, packets, settings), chosen, memory(name))


@every_program
@pytest.mark.parametrize("every", [1, 2, 7, 100])
def test_notified_addresses(name: str, every: int) -> None:
    done = [replace(cycle, notify=number % every == 0) for number, cycle in enumerate(cycles(name))]
    settings = settings_of(name)
    packets = Encoder(settings).encode(done)
    found = decoded(name, packets, settings)
    check_flow(found, done, memory(name))
    assert sum(bool(each.fields.get("is_notify")) for each in found) > 30_000 // every


@every_program
@pytest.mark.parametrize("resync", [None, 5])
@pytest.mark.parametrize("seed", range(6))
def test_lost_packets(name: str, resync: int | None, seed: int) -> None:
    """Up to the loss, and from the next synchronisation on, it is what the hart did; between them nothing is made up."""
    done = cycles(name)
    chance = random.Random(seed)
    edges = sorted(chance.sample(range(1, len(done)), 40))
    settings = settings_of(name, resync=resync, lost=tuple(zip(edges[::2], edges[1::2], strict=True)))
    packets = Encoder(settings).encode(done)
    found = decoded(name, packets, settings)
    assert [each.fields["reason"] for each in found if each.kind == "no_sync"] == ["overflow"] * 20
    wholes = list(told_up_to(packets, done))
    assert len(wholes) == 21
    parts: list[list[Element]] = [[]]
    for each in found:
        parts[-1].append(each)
        if each.kind == "no_sync":
            parts.append([])
    for part, (executed, sure) in zip(parts, wholes, strict=True):
        said = addresses(part, memory(name))
        assert said == executed[: len(said)]
        assert len(said) >= sure


@every_program
def test_a_trace_that_breaks_off(name: str) -> None:
    """However many packets there are: what they tell is what the hart did."""
    done = cycles(name)[:3000]
    settings = settings_of(name)
    packets = Encoder(settings).encode(done)
    executed = retired(done)
    longest = 0
    for count in range(2, len(packets), 3):
        said = addresses(decoded(name, packets[:count], settings), memory(name))
        assert said == executed[: len(said)]
        assert len(said) >= longest
        longest = len(said)
    assert longest > 2500
