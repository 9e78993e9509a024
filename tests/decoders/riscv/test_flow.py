"""The flow of RISC-V programs: recordings of a hart, encoded, must come back instruction by instruction."""

from __future__ import annotations

import lzma
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptttool.decoders.elements.model import Element
from tests.decoders.riscv.etrace_encoder import Cycle, Encoder, Packet, Settings, framed
from tests.decoders.riscv.flow_checks import addresses, check_flow, check_traps, retired, told_up_to
from tests.decoders.riscv.random_programs import Hart, program, watched
from tests.decoders.riscv.recorded import FOLDER, PROGRAMS, cycles, memory
from tests.decoders.streams import Stream, elements, stack

every_program = pytest.mark.parametrize("name", PROGRAMS)
WIDTHS = {"program": 64, "program32": 32}


def decoded(name: str, packets: Sequence[Packet], chosen: Settings) -> list[Element]:
    return elements("riscv-flow", Stream(framed(packets), {"elf": str(FOLDER / f"{name}.elf"), **chosen.parameters()}))


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


# A hart may say that a system call retires, and may tell traps with the instruction before.
HARTS: tuple[dict[str, bool], ...] = ({}, {"calls_retire": False}, {"merged": True})


@every_program
@pytest.mark.parametrize("number", range(len(SETTINGS) + 2), ids=[*SETTINGS, "the same", "and again"])
def test_a_recording(name: str, number: int) -> None:
    chosen = settings_of(name, **list(SETTINGS.values())[min(number, len(SETTINGS) - 1)])
    done = cycles(name, **HARTS[(number + PROGRAMS.index(name)) % len(HARTS)])
    encoder = Encoder(chosen)
    found = decoded(name, encoder.encode(done), chosen)
    check_flow(found, done, memory(name))
    check_traps(found, encoder, done, epcs(name))


@every_program
def test_recordings_have_what_they_are_for(name: str) -> None:
    """Interrupts right behind a jump by a register, two traps with nothing between them, user mode, branch maps of 31."""
    done = cycles(name)
    packets = Encoder(settings_of(name)).encode(done)
    traps = [packet for packet in packets if packet.trap is not None]
    assert sum(not packet.sync and packet.trap is not None and packet.trap.interrupt for packet in traps) >= 3
    assert sum(packet.epc for packet in traps) == 2  # exceptions behind a jump by a register, behind mret
    assert any(one.trap is not None and two.trap_only for one, two in pairwise(done))
    assert {cycle.privilege for cycle in done} == {0, 3}
    assert any(packet.payload[0] & 0x7F == 1 for packet in packets)
    assert sum(cycle.sequential for cycle in done) == (2 if name == "program" else 3)
    assert len(done) > 40_000


def stretches(done: Sequence[Cycle], seed: int, longest: int) -> list[Cycle]:
    """Traced now and then."""
    chance, traced = Random(seed), True
    changed: list[Cycle] = []
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
@pytest.mark.parametrize(("early", "resync", "calls_retire"), [(False, None, True), (True, 4, False)], ids=["known late", "known early"])
def test_trace_that_is_switched_off_and_on(
    name: str, choose: Callable[[Sequence[Cycle]], list[Cycle]], early: bool, resync: int | None, calls_retire: bool
) -> None:
    chosen = settings_of(name, early=early, resync=resync)
    done = choose(cycles(name, calls_retire=calls_retire))
    packets = Encoder(chosen).encode(done)
    check_flow(decoded(name, packets, chosen), done, memory(name))
    assert {packet.status for packet in packets} >= {0, 1}


@every_program
def test_both_ways_that_trace_ends(name: str) -> None:
    """Where trace ends right behind a jump by a register, qual_status says so, or the packet before it does."""
    done = cycles(name)
    ends = {number for number, cycle in enumerate(done) if number % 11 == 0 and done[number - 1].kind.name == "DISCONTINUITY"}
    traced = [replace(cycle, traced=number - 1 not in ends) for number, cycle in enumerate(done)]
    for early, status in ((False, 3), (True, 1)):
        chosen = settings_of(name, early=early)
        packets = Encoder(chosen).encode(traced)
        assert sum(packet.status == status for packet in packets) > 100
        check_flow(decoded(name, packets, chosen), traced, memory(name))


@every_program
@pytest.mark.parametrize("every", [1, 7])
def test_notified_addresses(name: str, every: int) -> None:
    done = [replace(cycle, notify=number % every == 0) for number, cycle in enumerate(cycles(name))]
    chosen = settings_of(name)
    packets = Encoder(chosen).encode(done)
    found = decoded(name, packets, chosen)
    check_flow(found, done, memory(name))
    assert sum(bool(each.fields.get("is_notify")) for each in found) > 30_000 // every


@every_program
@pytest.mark.parametrize("resync", [None, 5])
@pytest.mark.parametrize("seed", range(3))
def test_lost_packets(name: str, resync: int | None, seed: int) -> None:
    """Up to the loss, and from the next synchronisation on, it is what the hart did; between them nothing is made up."""
    done = cycles(name)
    chance = Random(seed)
    edges = sorted(chance.sample(range(1, len(done)), 40))
    chosen = settings_of(name, resync=resync, lost=tuple(zip(edges[::2], edges[1::2], strict=True)))
    packets = Encoder(chosen).encode(done)
    found = decoded(name, packets, chosen)
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
    chosen = settings_of(name)
    packets = Encoder(chosen).encode(done)
    executed = retired(done)
    longest = 0
    for count in range(2, len(packets), 3):
        said = addresses(decoded(name, packets[:count], chosen), memory(name))
        assert said == executed[: len(said)]
        assert len(said) >= longest
        longest = len(said)
    assert longest > 2500


# What addr2line says of the program. A range begins there.
PLACES = {
    "program": {
        0x80000000: ("_start", "start.S:16"), 0x80000040: ("trap_entry", "start.S:34"), 0x800000E0: ("system_call", "start.S:101"),
        0x8000024C: ("fibonacci", "main.c:93"), 0x800001D8: ("dispatch+0x1a", "main.c:32"), 0x80000320: ("outer+0x3a", "main.c:108"),
        0x80000128: ("leave_user", "start.S:142"),
    },
    "program32": {
        0x80000040: ("trap_entry", "start.S:34"), 0x8000024C: ("fibonacci", "main.c:93"), 0x8000019C: ("around+0x1a", "start.S:203"),
        0x800004CC: ("on_trap+0x26", "main.c:53"),
    },
}  # fmt: skip


def test_the_trace_beside_the_program() -> None:
    """It is what users try: packets of the recording."""
    assert (FOLDER / "program.bin").read_bytes() == framed(Encoder().encode(cycles("program")))


@every_program
def test_functions_and_lines_of_the_source(name: str) -> None:
    chosen = settings_of(name)
    found = decoded(name, Encoder(chosen).encode(cycles(name)), chosen)
    said = {each.fields["st_addr"]: (each.fields["symbol"], each.fields["source"]) for each in found if each.kind == "instr_range"}
    assert {address: said.get(address) for address in PLACES[name]} == PLACES[name]


@given(seed=st.integers(0, 1 << 32), size=st.integers(1, 60), steps=st.integers(1, 300))
def test_any_way_through_any_program(seed: int, size: int, steps: int) -> None:
    with Made(seed, size, steps) as made:
        check_flow(made.decoded(), made.cycles, made.code)
        check_traps(made.decoded(), made.encoder, made.cycles, made.run.epcs)


@settings(max_examples=30)
@given(seed=st.integers(0, 1 << 32), data=st.data())
def test_any_way_that_breaks_off(seed: int, data: st.DataObject) -> None:
    """Whatever comes last, nothing is said twice and nothing is made up."""
    with Made(seed, 20, 60) as made:
        executed, longest = retired(made.cycles), 0
        for count in range(1, len(made.encoder.packets)):
            found = made.decoded(count)
            said = addresses(found, made.code)
            assert not any(each.kind in ("no_sync", "addr_nacc") for each in found)
            assert said == executed[: len(said)]
            assert len(said) >= longest
            longest = len(said)


class Made:
    """A program in a file, a way through it, and its packets, all of them any."""

    def __init__(self, seed: int, size: int, steps: int) -> None:
        chance = Random(seed)
        bits64, compressed = chance.random() < 0.5, chance.random() < 0.8
        made = program(chance, size, bits64=bits64, compressed=compressed)
        self._folder = tempfile.TemporaryDirectory()
        self._path = Path(self._folder.name) / "program.elf"
        self.code = made.write(self._path)
        hart = Hart(chance, self.code, made, calls_retire=chance.random() < 0.5, trap_chance=chance.choice((0, 0.02, 0.1, 0.3)))
        some = (0.0, 0.0, 0.02, 0.2)
        self.run = watched(chance, hart.run(steps), off=chance.choice(some), notify=chance.choice(some), context=chance.choice(some))
        self.cycles = self.run.cycles
        self.settings = Settings(
            address_width=64 if bits64 else 32, address_lsb=1 if compressed else chance.choice((1, 2)), sijump=chance.random() < 0.5,
            resync=chance.choice((None, None, 0, 1, 3)), early=chance.random() < 0.5, full_address=chance.random() < 0.3,
            undefined=chance.getrandbits(32) & ~3, context_width=4, irdepth_width=chance.choice((0, 3)),
        )  # fmt: skip
        self.encoder = Encoder(self.settings)
        self.encoder.encode(self.cycles)

    def decoded(self, count: int | None = None) -> list[Element]:
        """Elements of the first ``count`` packets."""
        parameters = {**self.settings.parameters(), "elf": str(self._path)}
        return elements("riscv-flow", Stream(framed(self.encoder.packets[:count]), parameters))

    def __enter__(self) -> Made:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def test_bytes_that_are_lost() -> None:
    """Up to the gap it is what packets have told, and from the next synchronisation on."""
    name, done = "program", cycles("program")[12_000:18_000]
    chosen = settings_of(name, resync=5)
    packets = Encoder(chosen).encode(done)
    parameters = {"elf": str(FOLDER / f"{name}.elf"), **chosen.parameters()}
    fields = stack("riscv-flow", parameters).fields
    for gap in range(10, len(packets) - 60, 9):
        decoder = stack("riscv-flow", parameters).decoder()
        before = framed(packets[:gap])
        found = list(decoder.feed(before, offset=0).objects(fields))
        found += decoder.feed(framed(packets[gap + 3 :]), offset=len(before) + 100).objects(fields)
        found += decoder.finish().objects(fields)
        told = [packet.reaches for packet in packets[:gap] if packet.reaches is not None]
        rest = retired(done[next(packet.cycle for packet in packets[gap + 3 :] if packet.sync) :])
        said = addresses(found, memory(name))
        known = len(said) - len(rest)
        assert said[known:] == rest
        assert said[:known] == retired(done)[:known]
        assert len(retired(done[: told[-2] + 1])) <= known <= len(retired(done[: told[-1] + 1]))
        assert not [each for each in found if "problem" in each.fields]
