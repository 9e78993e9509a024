"""The flow of RISC-V programs where packets and program do not agree, and where the encoder does what is not followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ptttool.decoders.elements.model import CODES, Element, Flags
from ptttool.decoders.elements.rows import ElementRows
from ptttool.decoders.riscv.flow.problems import PROBLEMS
from ptttool.errors import InputError, UsageError
from ptttool.table.schema import DType
from tests.decoders.riscv import bits
from tests.decoders.riscv.bits import C_NOP, MRET, NOP, Memory, jal
from tests.decoders.riscv.etrace import Layout, compressed, packed
from tests.decoders.riscv.etrace_encoder import Cycle, Encoder, Kind, Packet, Settings, Trap, framed
from tests.decoders.riscv.flow_checks import addresses, retired
from tests.decoders.riscv.recorded import FOLDER, cycles, memory
from tests.decoders.streams import Stream, batches, elements, stack

AT = 0x8000_0000
SETTINGS = Settings()


def written(folder: Path, *instructions: bytes, at: int = AT) -> Path:
    """A program of 64 bits."""
    path = folder / "program.elf"
    path.write_bytes(bits.elf([(at, b"".join(instructions))], bits64=True))
    return path


def payload(*layout: tuple[str, int, int]) -> bytes:
    return compressed(*packed(list(layout)))


def support(options: int = 0, status: int = 0) -> bytes:
    return payload(("format", 2, 3), ("subformat", 2, 3), ("ienable", 1, 1), ("mode", 1, 0), ("qual_status", 2, status), ("o", 5, options))


def start(address: int, *, branch: int = 1, privilege: int = 3) -> bytes:
    where: Layout = [("branch", 1, branch), ("privilege", 2, privilege), ("address", 63, address >> 1)]
    return payload(("format", 2, 3), ("subformat", 2, 0), *where)


def trap(address: int | None, *, handler: int = 1, cause: int = 2) -> bytes:
    begin: Layout = [("format", 2, 3), ("subformat", 2, 1), ("branch", 1, 1), ("privilege", 2, 3)]
    told: Layout = [("ecause", 4, cause), ("interrupt", 1, 0), ("thaddr", 1, handler)]
    where: Layout = [] if address is None else [("address", 63, address >> 1)]
    return payload(*begin, *told, *where, ("tval", 64, 0))


def to(difference: int, *outcomes: int) -> bytes:
    """Format 2, or with outcomes (1: not taken) format 1. ``difference``: of the address to the one before."""
    number = (difference >> 1) % (1 << 63)
    bit = number >> 62
    tail: Layout = [("address", 63, number), ("notify", 1, bit), ("updiscon", 1, bit), ("irreport", 1, bit)]
    if not outcomes:
        return payload(("format", 2, 2), *tail)
    size = next(size for size in (1, 3, 7, 15, 31) if size >= len(outcomes))
    branch_map = sum(outcome << number for number, outcome in enumerate(outcomes))
    return payload(("format", 2, 1), ("branches", 5, len(outcomes)), ("branch_map", size, branch_map), *tail)


def full_map(outcomes: int = 0) -> bytes:
    return payload(("format", 2, 1), ("branches", 5, 0), ("branch_map", 31, outcomes))


def stream(path: Path, *payloads: bytes, **parameters: str) -> Stream:
    data = b"".join(bytes([len(each)]) + each for each in payloads)
    return Stream(data, {**SETTINGS.parameters(), "elf": str(path), **parameters})


def decoded(path: Path, *payloads: bytes, **parameters: str) -> list[Element]:
    return elements("riscv-flow", stream(path, *payloads, **parameters))


def told(found: Sequence[Element]) -> list[tuple[object, ...]]:
    """Ranges, what cannot be followed, and what is missing."""
    names = {"instr_range": ("st_addr", "en_addr"), "no_sync": ("reason", "problem"), "addr_nacc": ("st_addr",)}
    return [(each.kind, *(each.fields.get(name) for name in names[each.kind])) for each in found if each.kind in names]


def check_strict(given: Stream, message: str | None) -> None:
    """What strict decoding says; None where it does not mind."""
    for batch in batches("riscv-flow", given):
        found = ElementRows(batch, stack("riscv-flow", given.parameters).schema).violation()
        if found is not None:
            assert message is not None
            assert message in found.reason
            return
    assert message is None


ENDS = support(status=1)
DISAGREE, LEFT_OUT = "packets and program do not agree", "leaves out"


def test_a_branch_without_an_outcome(tmp_path: Path) -> None:
    path = written(tmp_path, NOP, bits.branch(0, 1, 2, 8), NOP, NOP)
    packets = start(AT), to(12), start(AT + 8), ENDS
    assert told(decoded(path, *packets)) == [
        ("instr_range", AT, AT + 4), ("no_sync", "bad_image", "no_outcome"), ("instr_range", AT + 8, AT + 12),
    ]  # fmt: skip
    check_strict(stream(path, *packets), DISAGREE)


def test_outcomes_without_branches(tmp_path: Path) -> None:
    path = written(tmp_path, NOP, bits.branch(0, 1, 2, 8), NOP, bits.jalr(0, 5), NOP)
    packets = start(AT), to(16, 1, 0, 0), start(AT + 8), ENDS
    assert told(decoded(path, *packets)) == [
        ("instr_range", AT, AT + 4), ("no_sync", "bad_image", "outcomes_left"), ("instr_range", AT + 8, AT + 12),
    ]  # fmt: skip
    check_strict(stream(path, *packets), DISAGREE)


def test_a_jump_that_is_not_reported(tmp_path: Path) -> None:
    path = written(tmp_path, NOP, bits.jalr(0, 5), NOP)
    packets = start(AT), full_map(), to(4), start(AT + 8), ENDS
    assert told(decoded(path, *packets)) == [
        ("instr_range", AT, AT + 4), ("no_sync", "bad_image", "unexpected_jump"), ("instr_range", AT + 8, AT + 12),
    ]  # fmt: skip
    check_strict(stream(path, *packets), DISAGREE)


@pytest.mark.parametrize("jump", [bits.jal(0, 0) + NOP, bits.c_jump(0) + C_NOP + NOP, NOP + bits.jal(0, -4)])
def test_a_loop_without_an_end(tmp_path: Path, jump: bytes) -> None:
    path = written(tmp_path, NOP, jump, NOP)
    packets = start(AT), to(12), start(AT + 12), ENDS
    assert told(decoded(path, *packets)) == [
        ("instr_range", AT, AT + 4), ("no_sync", "bad_image", "endless_loop"), ("instr_range", AT + 12, AT + 16),
    ]  # fmt: skip
    check_strict(stream(path, *packets), DISAGREE)


def test_a_long_way_of_jumps_is_no_endless_loop(tmp_path: Path) -> None:
    path = written(tmp_path, *[bits.c_jump(2)] * 200, NOP)
    found = told(decoded(path, start(AT), to(400), ENDS))
    assert len(found) == 201
    assert found[-1] == ("instr_range", AT + 400, AT + 404)


def ranges_of(given: Stream) -> tuple[int, set[str]]:
    """How many ranges there are, and the problems."""
    count, problems = 0, set()
    for found in batches("riscv-flow", given):
        count += int((found.kind == CODES["instr_range"]).sum())
        some, known = found.column("problem", DType.ENUM)
        problems |= {PROBLEMS[each] for each in some[known].tolist()}
    return count, problems


def test_long_loops_are_followed_whole(tmp_path: Path) -> None:
    """A packet of two bytes reports 31 rounds, each with a jump: no program has more ranges for a byte and a branch for long."""
    path = written(tmp_path, jal(0, 4), bits.branch(0, 0, 0, -4))
    count, problems = ranges_of(stream(path, start(AT), *[full_map()] * 4000, ENDS))
    assert (count, problems) == (2 * 31 * 4000, set())


@pytest.mark.parametrize("harts", [1, 60])
def test_jumps_that_no_packet_reports_are_followed_for_a_while(tmp_path: Path, harts: int) -> None:
    path = written(tmp_path, *[jal(0, 4)] * 100, jal(0, -400))
    packets = [start(AT + 4 * 50 * (number % 2)) for number in range(400)]
    data = b"".join(bytes([len(each), number]) + each for each in packets for number in range(harts))
    given = Stream(data, {**SETTINGS.parameters(), "elf": str(path), "srcid_bits": "8"})
    count, problems = ranges_of(given)
    assert 16 * 400 * harts * 0.5 < count < (16 * 400 + 1024) * harts
    assert problems == {"over_budget"}


def test_a_loop_of_jumps_is_followed_for_a_while(tmp_path: Path) -> None:
    """As many ranges for a byte as no loop has: the budget is of the bytes."""
    path = written(tmp_path, *[jal(0, 4)] * 10, bits.branch(0, 0, 0, -40))
    given = stream(path, *[start(AT), *[full_map()] * 20] * 100, ENDS)
    count, problems = ranges_of(given)
    assert 16 * len(given.data) < count < 32 * len(given.data) + 1024
    assert problems == {"over_budget"}


@pytest.mark.parametrize(
    ("jump", "goes", "missing"),
    [
        (bits.jal(0, 0x100), to(0x104), AT + 0x104),
        (bits.jalr(0, 5), to(0x2000), AT + 0x2000),
        (bits.branch(0, 1, 2, -64), to(0x100, 0), AT - 60),
        (NOP, to(0x100), AT + 16),
    ],
)
def test_code_that_is_missing(tmp_path: Path, jump: bytes, goes: bytes, missing: int) -> None:
    path = written(tmp_path, NOP, jump, NOP, NOP)
    packets = start(AT), goes, start(AT + 12), ENDS
    found = told(decoded(path, *packets))
    assert found[-2:] == [("addr_nacc", missing), ("instr_range", AT + 12, AT + 16)]
    assert found[0][1] == AT
    assert found[-3][2] == (missing if found[-3][2] in (AT + 4, AT + 16) and missing in (AT + 4, AT + 16) else AT + 8)
    check_strict(stream(path, *packets), None)


@pytest.mark.parametrize("illegal", [bits.ILLEGAL, bits.C_ILLEGAL + C_NOP])
def test_instructions_that_are_none(tmp_path: Path, illegal: bytes) -> None:
    """Nothing gets past them, and nothing begins with them."""
    path = written(tmp_path, NOP, bits.jal(0, 4), NOP, illegal, NOP)
    problem = ("no_sync", "bad_image", "illegal_instruction")
    packets = start(AT), to(0x100), start(AT + 12), start(AT + 16), ENDS
    assert told(decoded(path, *packets)) == [
        ("instr_range", AT, AT + 8), ("instr_range", AT + 8, AT + 12), problem, problem, ("instr_range", AT + 16, AT + 20),
    ]  # fmt: skip
    check_strict(stream(path, *packets), DISAGREE)


@pytest.mark.parametrize(
    ("jump", "element"),
    [(bits.branch(0, 1, 2, 8), ("no_sync", "bad_image", "no_outcome")), (bits.jal(0, -64), ("addr_nacc", AT - 60))],
)
def test_a_synchronisation_that_cannot_be_reached(tmp_path: Path, jump: bytes, element: tuple[object, ...]) -> None:
    """It is reported, and following goes on from there."""
    path = written(tmp_path, NOP, jump, NOP, NOP)
    packets = start(AT), start(AT + 8), to(4), ENDS
    found = told(decoded(path, *packets))
    assert found[-2:] == [element, ("instr_range", AT + 8, AT + 16)]
    assert [each[0] for each in found[:-2]] == ["instr_range"]
    # A hart at an address without code is reported once.
    found = told(decoded(path, start(AT + 8), start(0x1000), to(4), start(AT + 8), ENDS))
    assert [each[0] for each in found] == ["instr_range", "addr_nacc", "instr_range"]


@pytest.mark.parametrize("begin", [start(0x1000), trap(0x1000)])
def test_trace_that_begins_where_no_code_is(tmp_path: Path, begin: bytes) -> None:
    path = written(tmp_path, NOP, NOP)
    assert told(decoded(path, begin, to(4), start(AT), ENDS)) == [("addr_nacc", 0x1000), ("instr_range", AT, AT + 4)]


def test_a_packet_behind_a_trap(tmp_path: Path) -> None:
    """Only the handler's first instruction can come."""
    path = written(tmp_path, NOP, NOP, NOP)
    packets = start(AT), trap(0, handler=0), to(4), start(AT + 8), ENDS
    assert told(decoded(path, *packets)) == [
        ("instr_range", AT, AT + 4), ("no_sync", "bad_packet", "bad_packet"), ("instr_range", AT + 8, AT + 12),
    ]  # fmt: skip
    check_strict(stream(path, *packets), "bytes that are not a packet")


def test_packets_before_trace_begins(tmp_path: Path) -> None:
    path = written(tmp_path, NOP, NOP)
    assert told(decoded(path, to(4), full_map(), start(AT), to(4))) == [("instr_range", AT, AT + 8)]


BRANCH_COUNT = payload(("format", 2, 0), ("branch_count", 32, 5), ("branch_fmt", 2, 0))
CACHE_INDEX = payload(("format", 2, 0), ("cache_index", 4, 3), ("branches", 5, 0), ("irreport", 1, 0))


@pytest.mark.parametrize(
    ("packet", "options", "problem", "parameters"),
    [
        (BRANCH_COUNT, 1 << 4, "branch_prediction", {"bpred_size_p": "4"}),
        (CACHE_INDEX, 1 << 3, "jump_target_cache", {"cache_size_p": "4"}),
    ],
)
def test_packets_of_format_0(tmp_path: Path, packet: bytes, options: int, problem: str, parameters: dict[str, str]) -> None:
    """What packets reported before stays."""
    path = written(tmp_path, NOP, NOP, NOP, NOP)
    packets = support(options), start(AT), to(8), packet, packet, to(4), start(AT + 12), ENDS
    assert told(decoded(path, *packets, **parameters)) == [
        ("instr_range", AT, AT + 12), ("no_sync", "not_followed", problem), ("instr_range", AT + 12, AT + 16),
    ]  # fmt: skip
    check_strict(stream(path, *packets, **parameters), LEFT_OUT)


@pytest.mark.parametrize("status", [0, 1])
def test_implicit_returns(tmp_path: Path, status: int) -> None:
    """Nothing is followed until they end."""
    path = written(tmp_path, NOP, NOP, NOP, NOP)
    packets = support(), start(AT), to(4), support(1, status), start(AT), to(8), trap(AT), support(), start(AT + 8), ENDS
    assert told(decoded(path, *packets)) == [
        ("instr_range", AT, AT + 8), ("no_sync", "not_followed", "implicit_return"), ("instr_range", AT + 8, AT + 12),
    ]  # fmt: skip
    check_strict(stream(path, *packets), LEFT_OUT)


def test_implicit_returns_from_the_beginning(tmp_path: Path) -> None:
    """The options may come by a parameter, for a trace that begins in the middle."""
    path = written(tmp_path, NOP, NOP)
    assert told(decoded(path, start(AT), to(4), start(AT), ioptions="1")) == [("no_sync", "not_followed", "implicit_return")]


def test_implicit_exceptions(tmp_path: Path) -> None:
    """Where the handler is the packet does not say."""
    path = written(tmp_path, NOP, NOP, NOP, NOP)
    packets = support(2), start(AT), to(4), trap(None), to(4), start(AT + 8), ENDS
    found = decoded(path, *packets)
    assert told(found) == [
        ("instr_range", AT, AT + 8), ("no_sync", "not_followed", "implicit_exception"), ("instr_range", AT + 8, AT + 12),
    ]  # fmt: skip
    assert next(each for each in found if each.kind == "exception").fields["en_addr"] == AT + 8
    check_strict(stream(path, *packets), LEFT_OUT)


def test_a_system_call_that_a_second_trap_follows(tmp_path: Path) -> None:
    """The address of the first packet means nothing: the system call is where the hart was."""
    path = written(tmp_path, NOP, bits.ECALL, NOP, NOP)
    found = decoded(path, start(AT), to(4), trap(0x1234, handler=0, cause=11), trap(AT + 8, cause=1), ENDS)
    assert [each.fields.get("en_addr") for each in found if each.kind == "exception"] == [AT + 4, None]
    assert told(found) == [("instr_range", AT, AT + 8), ("instr_range", AT + 8, AT + 12)]


@pytest.mark.parametrize("number", [0x3020_0073, 0x1020_0073, 0x0020_0073, 0x7B20_0073, 0x7020_0073], ids=["m", "s", "u", "d", "mn"])
def test_returns_from_traps(tmp_path: Path, number: int) -> None:
    """They go anywhere, those from debug mode and from non-maskable interrupts, too."""
    path = written(tmp_path, NOP, bits.word(number), NOP, NOP)
    found = decoded(path, start(AT, privilege=3), start(AT + 12, privilege=0), ENDS)
    assert told(found) == [("instr_range", AT, AT + 8), ("instr_range", AT + 12, AT + 16)]
    (subtype,) = (each.fields["last_i_subtype"] for each in found if each.fields.get("st_addr") == AT)
    assert subtype == "trap_return"


def changed(folder: Path, address: int, code: bytes) -> Path:
    """The recorded program with other bytes at an address."""
    data = bytearray((FOLDER / "program.elf").read_bytes())
    (begin, part), *_ = memory("program").parts
    place = bytes(data).index(part) + address - begin
    assert data[place : place + len(code)] != code
    data[place : place + len(code)] = code
    path = folder / "changed.elf"
    path.write_bytes(data)
    return path


def follow(path: Path, done: Sequence[Cycle], given: Settings) -> tuple[list[Packet], list[Element]]:
    packets = Encoder(given).encode(done)
    return packets, elements("riscv-flow", Stream(framed(packets), {**given.parameters(), "elf": str(path)}))


@pytest.mark.parametrize(
    ("address", "code"),
    [
        (0x8000_03BA, NOP),  # a branch in sort that is gone
        (0x8000_03C6, bits.c_branch(zero=False, rs1=14, offset=-2)),  # one that goes elsewhere
        (0x8000_03C2, bits.c_branch(zero=False, rs1=14, offset=4)),  # one more
        (0x8000_0398, bits.c_jr(1)),  # a jump that becomes a return
        (0x8000_0398, bits.c_jump(0)),  # one without an end
    ],
)
def test_another_program(tmp_path: Path, address: int, code: bytes) -> None:
    """Sooner or later it is seen; behind the last place that differs everything is right from a synchronisation on."""
    done = cycles("program")[:14_000]
    packets, found = follow(changed(tmp_path, address, code), done, Settings(resync=8))
    problems = [each for each in found if each.kind == "no_sync"]
    assert problems
    assert {each.fields["reason"] for each in problems} == {"bad_image"}
    last = max(number for number, cycle in enumerate(done) if 0x8000_038C <= cycle.address < 0x8000_03D8)
    rest = retired(done[next(packet.cycle for packet in packets if packet.sync and packet.cycle > last) :])
    assert len(rest) > 500
    assert addresses(found, memory("program"))[-len(rest) :] == rest
    sort = min(number for number, cycle in enumerate(done) if cycle.address == 0x8000_038C)
    before = retired(done[: sort - 100])
    assert addresses(found, memory("program"))[: len(before)] == before


def test_a_function_that_is_missing(tmp_path: Path) -> None:
    """The address that was reached is reported, and everything executed elsewhere from each synchronisation on."""
    (begin, part), *_ = memory("program").parts
    gap = 0x8000_024C, 0x8000_027E  # fibonacci
    path = tmp_path / "holed.elf"
    parts = [(begin, part[: gap[0] - begin]), (gap[1], part[gap[1] - begin :])]
    path.write_bytes(bits.elf(parts, bits64=True))
    done = cycles("program")[:14_000]
    packets, found = follow(path, done, Settings(resync=8))
    missing = [each.fields["st_addr"] for each in found if each.kind == "addr_nacc"]
    assert missing[0] == gap[0]
    assert all(gap[0] <= address < gap[1] for address in missing)
    said = addresses(found, Memory(path))
    last = max(number for number, cycle in enumerate(done) if gap[0] <= cycle.address < gap[1])
    rest = retired(done[next(packet.cycle for packet in packets if packet.sync and packet.cycle > last) :])
    assert said[-len(rest) :] == rest
    first = min(number for number, cycle in enumerate(done) if cycle.address == gap[0])
    assert said[:first] == retired(done[:first])


def test_the_draft_of_2019_cannot_be_followed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="version=2019") as error:
        decoded(written(tmp_path, NOP), version="2019")
    assert error.value.code == "bad-parameter"
    assert error.value.hint is not None


def test_files_that_are_no_program_for_it(tmp_path: Path) -> None:
    path = tmp_path / "it.elf"
    good = bits.elf([(AT, NOP)], bits64=True)
    for content, codes in (
        (b"", {"bad-elf"}),
        (b"no program at all, but a text", {"bad-elf"}),
        (good[:20], {"bad-elf"}),
        (good[:70], {"bad-elf"}),
        (good[:18] + b"\xb7\0" + good[20:], {"other-machine"}),
        (good[:5] + b"\2" + good[6:], {"other-machine", "bad-elf"}),
        (bits.elf([], bits64=True), {"no-code"}),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError) as error:
            decoded(path)
        assert error.value.code in codes
        assert str(path) in str(error.value)
        path = path.with_name(path.name + "_")  # what has been read of one name is kept
    for name in (tmp_path / "none.elf", tmp_path):
        with pytest.raises(InputError, match=name.name):
            decoded(name)


def test_names_of_programs(tmp_path: Path) -> None:
    path = tmp_path / "with@sign.elf"
    path.write_bytes(bits.elf([(0x2000, NOP * 2)], bits64=True))
    there = ("instr_range", 0x3004, 0x3008)
    assert told(decoded(path, start(0x2004), ENDS)) == [("instr_range", 0x2004, 0x2008)]
    for text in (f"{path}@0x1000", f"{path}@4096", f"{FOLDER / 'program.elf'},{path}@0x1000", f"{path},{path}@0x1000"):
        assert told(decoded(path, start(0x3004), ENDS, elf=text)) == [there]
    for text in (f"{path}@", f"{path}@here", f"{tmp_path / 'none.elf'}@here", "@5", ","):
        with pytest.raises(UsageError, match="elf=") as error:
            decoded(path, elf=text)
        assert error.value.code == "bad-parameter"
    with pytest.raises(InputError, match=r"none\.elf"):
        decoded(path, elf=f"{path},{tmp_path / 'none.elf'}@0x1000")


def test_debugging_information_that_is_damaged(tmp_path: Path) -> None:
    """The flow does not need it."""
    from elftools.elf.elffile import ELFFile

    data = bytearray((FOLDER / "program.elf").read_bytes())
    with (FOLDER / "program.elf").open("rb") as file:
        sections = {section.name: section for section in ELFFile(file).iter_sections()}
    done = cycles("program")[:500]
    for name in (".debug_info", ".debug_line", ".debug_abbrev", ".debug_aranges", ".symtab"):
        section = sections[name]
        begin, size = section["sh_offset"], section["sh_size"]
        path = tmp_path / f"{name[1:]}.elf"
        path.write_bytes(data[:begin] + bytes(b * 7 + 3 & 0xFF for b in range(size)) + data[begin + size :])
        _, found = follow(path, done, SETTINGS)
        assert addresses(found, memory("program")) == retired(done)
        assert not any(each.flags & Flags.TRUNCATED for each in found)


def test_a_return_to_the_same_level_and_to_another(tmp_path: Path) -> None:
    """The target of mret must be in a packet; where the level changes, that is the one of format 3.0."""
    path = written(tmp_path, NOP, MRET, NOP, NOP, MRET, NOP)
    done = [Cycle(AT), Cycle(AT + 4, Kind.TRAP_RETURN), Cycle(AT + 12), Cycle(AT + 16, Kind.TRAP_RETURN), Cycle(AT + 8, privilege=0)]
    done.append(replace(Cycle(AT + 12, retired=False, privilege=0), trap=Trap(2)))
    _, found = follow(path, done, SETTINGS)
    assert addresses(found, Memory(path)) == retired(done)


def test_bits_of_a_map_that_no_branch_has(tmp_path: Path) -> None:
    """They say nothing, now or later."""
    on = bits.branch(1, 10, 0, 4)
    path = written(tmp_path, NOP, on, on, NOP, bits.branch(1, 10, 0, 8), NOP, NOP)
    notified: Layout = [("address", 63, 6), ("notify", 1, 1), ("updiscon", 1, 1), ("irreport", 1, 1)]
    for spare in (0, 1):
        two = payload(("format", 2, 1), ("branches", 5, 2), ("branch_map", 3, 0b10 | spare << 2), *notified)
        assert told(decoded(path, start(AT), two, to(12, 0), ENDS))[-2:] == [
            ("instr_range", AT + 12, AT + 20), ("instr_range", AT + 24, AT + 28)
        ]  # fmt: skip


def test_a_way_of_too_many_instructions(tmp_path: Path) -> None:
    """A packet cannot make the decoder look through all of memory."""
    path = written(tmp_path, C_NOP * 200_000)
    packets = start(AT), to(0x10_0000), start(AT + 8), ENDS
    assert told(decoded(path, *packets))[-2:] == [("no_sync", "bad_image", "endless_loop"), ("instr_range", AT + 8, AT + 10)]
