"""What a well-formed TLP header does not have (PCIe base specification 6.x, section 2.2), as diagnostics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ptttool.diagnostics import Diagnostic, Severity
from ptttool.tlp import codes

# Contiguous enables: of a first DW up to its last byte, of a last DW from its first byte.
_TO_THE_END = (0b1111, 0b1110, 0b1100, 0b1000)
_FROM_THE_START = (0b0001, 0b0011, 0b0111, 0b1111)
_ATOMIC_LENGTHS = {"FetchAdd": (1, 2), "Swap": (1, 2), "CAS": (2, 4, 8)}


def _odd(code: str, message: str, **details: object) -> Diagnostic:
    return Diagnostic(Severity.WARNING, code, message, details=details)


def unknown_type(code: int) -> Diagnostic:
    """Make the diagnostic for a Fmt/Type code that is not the code of a TLP."""
    name = codes.code_name(code)
    if code >> 5 == codes.PREFIX_FMT:
        return _odd("prefix-as-header", f"the first DW is a TLP {name}, not a header: give it as the prefix", type=code)
    return _odd("unknown-type", f"Fmt/Type code {code:#04x} is {name}: the other fields are not known", type=code)


def diagnose(tlp_type: codes.TlpType, fields: Mapping[str, int | str]) -> Iterator[Diagnostic]:
    """Find what is odd about a header.

    Parameters
    ----------
    tlp_type : TlpType
        What the TLP is.
    fields : Mapping of str to (int or str)
        Its fields by the names of :mod:`ptttool.tlp.columns`.

    Yields
    ------
    Diagnostic
        One for each rule that the header breaks.
    """
    numbers = {name: value for name, value in fields.items() if isinstance(value, int)}
    yield from _enables(tlp_type, numbers)
    yield from _attributes(tlp_type, numbers)
    if tlp_type.family in ("io", "config") and numbers["length_dw"] != 1:
        yield _odd("length", f"Length must be 1 in a {tlp_type.kind}, it is {numbers['length_dw']}")
    if tlp_type.family in ("memory", "atomic"):
        yield from _address(tlp_type, numbers)
    if tlp_type.family == "completion":
        yield from _completion(tlp_type, fields)
    if tlp_type.family == "message":
        yield from _message(tlp_type, numbers)
    if numbers["ep"] and not tlp_type.has_data:
        yield _odd("poisoned-nothing", "EP is set, but the TLP carries no data to be poisoned")


def _enables(tlp_type: codes.TlpType, numbers: Mapping[str, int]) -> Iterator[Diagnostic]:
    if "first_be" not in numbers:
        return
    length, first, last = numbers["length_dw"], numbers["first_be"], numbers["last_be"]
    if length == 1:
        if last:
            yield _odd("last-be", f"Last BE must be 0 with Length 1, it is {last:#x}")
        return
    if tlp_type.family != "memory":
        return
    if not first:
        yield _odd("first-be", f"First BE must not be 0 with Length {length}")
    if not last:
        yield _odd("last-be", f"Last BE must not be 0 with Length {length}")
    if first and last and (length > 2 or numbers["address"] & 4) and not (first in _TO_THE_END and last in _FROM_THE_START):
        yield _odd("byte-enables-with-gaps", f"byte enables must be contiguous here, First BE is {first:#x} and Last BE {last:#x}")


def _attributes(tlp_type: codes.TlpType, numbers: Mapping[str, int]) -> Iterator[Diagnostic]:
    if tlp_type.family in ("io", "config"):
        if numbers["attr"]:
            yield _odd("attr", f"Attr must be 0 in a {tlp_type.kind}, it is {numbers['attr']}")
        if numbers["tc"]:
            yield _odd("traffic-class", f"TC must be 0 in a {tlp_type.kind}, it is {numbers['tc']}")
    if numbers["th"] and (tlp_type.family not in ("memory", "atomic") or tlp_type.kind == "MRdLk"):
        yield _odd("hint", f"TH is set, but a {tlp_type.kind} has no hints")
    if numbers.get("at") == 0b11:
        yield _odd("address-type", "AT 3 is reserved")


def _address(tlp_type: codes.TlpType, numbers: Mapping[str, int]) -> Iterator[Diagnostic]:
    length, address = numbers["length_dw"], numbers["address"]
    lengths = _ATOMIC_LENGTHS.get(tlp_type.kind)
    if lengths is not None:
        if length not in lengths:
            yield _odd("length", f"Length of a {tlp_type.kind} must be one of {', '.join(map(str, lengths))}, it is {length}")
        operand = 4 * length // (2 if tlp_type.kind == "CAS" else 1)
        if length in lengths and address % operand:
            yield _odd("unaligned", f"the address of a {tlp_type.kind} of {operand} bytes must be a multiple of {operand}")
        return
    if tlp_type.four_dws and address < 1 << 32:
        yield _odd("long-header", "an address below 4 GiB belongs in a header of three DWs")
    if (address & 0xFFF) + 4 * length > 0x1000:
        yield _odd("crosses-4k", "crosses a 4 KiB boundary")


def _completion(tlp_type: codes.TlpType, fields: Mapping[str, int | str]) -> Iterator[Diagnostic]:
    status = fields["status"]
    if status == "reserved":
        yield _odd("status", "the Completion Status is a reserved code")
    if tlp_type.has_data and status != "SC":
        yield _odd("data-with-error", f"a completion with status {status} carries no data, this one does")
    if tlp_type.kind == "CplLk" and status == "SC":
        yield _odd("locked-without-data", "a CplLk without data reports errors, its status is SC")
    if fields["bcm"]:
        yield _odd("bcm", "BCM is set, which only PCI-X completers do")


def _message(tlp_type: codes.TlpType, numbers: Mapping[str, int]) -> Iterator[Diagnostic]:
    code, routing = numbers["message"], numbers["routing"]
    message = codes.MESSAGES.get(code)
    if routing > 0b101:
        yield _odd("reserved-routing", f"routing {routing} is reserved")
    if message is None:
        yield _odd("reserved-message", f"Message Code {code:#04x} is reserved")
        return
    if routing <= 0b101 and routing not in message.routings:
        allowed = " or ".join(codes.ROUTINGS[number] for number in message.routings)
        yield _odd("routing", f"{message.name} is routed {allowed}, this one {codes.ROUTINGS[routing]}")
    if message.data is not None and message.data != tlp_type.has_data:
        rule, actual = ("with", "without") if message.data else ("without", "with")
        yield _odd("message-data", f"{message.name} comes {rule} data, this one {actual}")
    if code in codes.TC0_MESSAGES and numbers["tc"]:
        yield _odd("traffic-class", f"TC must be 0 in {message.name}, it is {numbers['tc']}")
