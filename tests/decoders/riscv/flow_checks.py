"""What a decoded flow must say, held against what a hart has done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptttool.decoders.elements.model import Element
from tests.decoders.riscv import bits as riscv_bits
from tests.decoders.riscv.bits import Memory
from tests.decoders.riscv.etrace_encoder import Cycle, Encoder, Kind, Packet

_LINKS = (1, 5)


def addresses(found: Sequence[Element], code: Memory) -> list[int]:
    """Instructions of all ranges, by their lengths; each range must be whole."""
    executed = []
    for each in found:
        if each.kind == "instr_range":
            executed += list(_range(each, code))
    return executed


def _range(element: Element, code: Memory) -> Iterator[int]:
    fields = element.fields
    address, last = fields["st_addr"], None
    for _ in range(fields["num_instr_range"]):
        yield address
        last = code.at(address).size
        address += last
    assert fields["num_instr_range"]
    assert fields["en_addr"] == address & (1 << (64 if code.bits64 else 32)) - 1
    assert fields["last_instr_sz"] == last
    assert fields["isa"] == ("rv64" if code.bits64 else "rv32")


def retired(cycles: Sequence[Cycle]) -> list[int]:
    """Addresses of the instructions that are traced."""
    return [cycle.address for cycle in cycles if cycle.retired and cycle.traced]


def last_of(cycle: Cycle, code: Memory) -> tuple[str, str, bool, bool]:
    """Of a range that ends with an instruction: last_i_type, last_i_subtype, last_instr_exec, last_instr_cond."""
    here = code.at(cycle.address)
    link = here.kind in (riscv_bits.JUMP, riscv_bits.REGISTER_JUMP) and here.keeps in _LINKS
    match cycle.kind:
        case Kind.TAKEN | Kind.NOT_TAKEN:
            return "br", "none", cycle.kind is Kind.TAKEN, True
        case Kind.JUMP:
            return "br", "br_link" if link else "none", True, False
        case Kind.DISCONTINUITY:
            return "br_indirect", "br_link" if link else "return" if here.by in _LINKS else "none", True, False
        case Kind.TRAP_RETURN:
            return "br_indirect", "trap_return", True, False
        case _:
            return "other", "none", True, False


def check_lasts(found: Sequence[Element], cycles: Sequence[Cycle], code: Memory) -> None:
    """What ranges say of their last instructions; all of the cycles' instructions must be in the ranges."""
    done = [cycle for cycle in cycles if cycle.retired and cycle.traced]
    at = 0
    for each in found:
        if each.kind == "instr_range":
            at += each.fields["num_instr_range"]
            said = tuple(each.fields[name] for name in ("last_i_type", "last_i_subtype", "last_instr_exec", "last_instr_cond"))
            assert said == last_of(done[at - 1], code), (hex(done[at - 1].address), at)
    assert at == len(done)


def check_flow(found: Sequence[Element], cycles: Sequence[Cycle], code: Memory) -> None:
    """The whole flow, nothing lost."""
    assert not [each for each in found if each.kind in ("no_sync", "addr_nacc", "unknown") or each.flags]
    assert addresses(found, code) == retired(cycles)
    check_lasts(found, cycles, code)


def check_traps(found: Sequence[Element], encoder: Encoder, cycles: Sequence[Cycle], epcs: Sequence[int]) -> None:
    """Every trap that a packet tells of. ``epcs``: of each trap of the cycles, as the hart has it in its register."""
    told = [packet.trap for packet in encoder.packets if packet.trap is not None]
    said = [each.fields for each in found if each.kind == "exception"]
    assert [(each["ecause"], each["interrupt"], each.get("tval")) for each in said] == [
        (trap.cause, int(trap.interrupt), None if trap.interrupt else trap.tval) for trap in told
    ]
    happened = [(number, cycle) for number, cycle in enumerate(cycles) if cycle.trap is not None]
    assert len(happened) == len(epcs)
    kept = [(number, epc) for (number, cycle), epc in zip(happened, epcs, strict=True) if any(cycle.trap is each for each in told)]
    for fields, (number, epc) in zip(said, kept, strict=True):
        assert fields.get("en_addr") == (epc if _tells_epc(encoder, cycles, number) else None), (number, hex(epc))


def _tells_epc(encoder: Encoder, cycles: Sequence[Cycle], number: int) -> bool:
    """Whether packets and program tell the EPC of a trap: of an exception always, if an instruction that is traced comes before it."""
    cycle = cycles[number]
    assert cycle.trap is not None
    if cycle.retired:
        return cycle.traced
    before = cycles[number - 1] if number else None
    if before is None or not before.traced or not cycle.traced or before.trap is not None:
        return False
    return not cycle.trap.interrupt or number - 1 not in encoder.updiscons


def told_up_to(packets: Sequence[Packet], cycles: Sequence[Cycle]) -> Iterator[tuple[list[int], int]]:
    """Of each stretch of packets without a gap: the instructions that the hart has done in it, and how many of them it surely tells."""
    first = reach = sure = None
    for packet in packets:
        if packet.sync and first is None:
            first = packet.cycle
        if first is not None and packet.reaches is not None:
            sure, reach = reach if reach is not None else packet.reaches, packet.reaches
        if packet.status and first is not None and reach is not None and sure is not None:
            exact = packet.status != 2
            yield retired(cycles[first : reach + 1]), len(retired(cycles[first : (reach if exact else sure) + 1]))
            first = reach = sure = None
