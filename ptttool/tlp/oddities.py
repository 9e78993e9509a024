"""What a well-formed TLP header would not have (PCIe base specification 6.x, section 2.2), a sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ptttool.tlp import codes

# Contiguous enables: of a first word up to its last byte, of a last word from its first.
_TO_THE_END = (0b1111, 0b1110, 0b1100, 0b1000)
_FROM_THE_START = (0b0001, 0b0011, 0b0111, 0b1111)
_ATOMIC_LENGTHS = {"FetchAdd": (1, 2), "Swap": (1, 2), "CAS": (2, 4, 8)}


def oddities(known: codes.TlpType, fields: Mapping[str, int | str]) -> Iterator[str]:
    """Oddities of a header by its fields, named as in :mod:`ptttool.tlp.columns`."""
    numbers = {name: value for name, value in fields.items() if isinstance(value, int)}
    yield from _enables(known, numbers)
    yield from _attributes(known, numbers)
    if known.family in ("io", "config") and numbers["length_dw"] != 1:
        yield f"Length must be 1 in a {known.kind}, it is {numbers['length_dw']}"
    if known.family in ("memory", "atomic"):
        yield from _address(known, numbers)
    if known.family == "completion":
        yield from _completion(known, fields)
    if known.family == "message":
        yield from _message(known, numbers)
    if numbers["ep"] and not known.has_data:
        yield "EP is set, but there are no data to be poisoned"


def _enables(known: codes.TlpType, numbers: Mapping[str, int]) -> Iterator[str]:
    if "first_be" not in numbers:
        return
    length, first, last = numbers["length_dw"], numbers["first_be"], numbers["last_be"]
    if length == 1:
        if last:
            yield f"Last BE must be 0 with Length 1, it is {last:#x}"
        return
    if known.family != "memory":
        return
    if not first:
        yield f"First BE must not be 0 with Length {length}"
    if not last:
        yield f"Last BE must not be 0 with Length {length}"
    if first and last and (length > 2 or numbers["address"] & 4) and not (first in _TO_THE_END and last in _FROM_THE_START):
        yield f"byte enables must be contiguous here, First BE is {first:#x} and Last BE {last:#x}"


def _attributes(known: codes.TlpType, numbers: Mapping[str, int]) -> Iterator[str]:
    if known.family in ("io", "config"):
        if numbers["attr"]:
            yield f"Attr must be 0 in a {known.kind}, it is {numbers['attr']}"
        if numbers["tc"]:
            yield f"TC must be 0 in a {known.kind}, it is {numbers['tc']}"
    if numbers["th"] and (known.family not in ("memory", "atomic") or known.kind == "MRdLk"):
        yield f"TH is set, but a {known.kind} has no hints"
    if numbers.get("at") == 0b11:
        yield "AT 3 is reserved"


def _address(known: codes.TlpType, numbers: Mapping[str, int]) -> Iterator[str]:
    length, address = numbers["length_dw"], numbers["address"]
    lengths = _ATOMIC_LENGTHS.get(known.kind)
    if lengths is not None:
        if length not in lengths:
            yield f"Length of a {known.kind} must be one of {', '.join(map(str, lengths))}, it is {length}"
        operand = 4 * length // (2 if known.kind == "CAS" else 1)
        if length in lengths and address % operand:
            yield f"the address of a {known.kind} of {operand} bytes must be a multiple of {operand}"
        return
    if known.four_words and address < 1 << 32:
        yield "an address below 4 GiB belongs in a three-word header"
    if (address & 0xFFF) + 4 * length > 0x1000:
        yield "crosses a 4 KiB boundary"


def _completion(known: codes.TlpType, fields: Mapping[str, int | str]) -> Iterator[str]:
    status = fields["status"]
    if status == "reserved":
        yield "the Completion Status is a reserved code"
    if known.has_data and status != "SC":
        yield f"a completion with status {status} carries no data, this one does"
    if known.kind == "CplLk" and status == "SC":
        yield "a CplLk without data reports errors, its status is SC"
    if fields["bcm"]:
        yield "BCM is set, which only PCI-X completers do"


def _message(known: codes.TlpType, numbers: Mapping[str, int]) -> Iterator[str]:
    code, routing = numbers["message"], numbers["routing"]
    message = codes.MESSAGES.get(code)
    if routing > 0b101:
        yield f"routing {routing} is reserved"
    if message is None:
        yield f"Message Code {code:#04x} is reserved"
        return
    if routing <= 0b101 and routing not in message.routings:
        allowed = " or ".join(codes.ROUTINGS[number] for number in message.routings)
        yield f"{message.name} is routed {allowed}, this one {codes.ROUTINGS[routing]}"
    if message.data is not None and message.data != known.has_data:
        yield f"{message.name} comes {'with' if message.data else 'without'} data, this one {'with' if known.has_data else 'without'}"
    if code in codes.TC0_MESSAGES and numbers["tc"]:
        yield f"TC must be 0 in {message.name}, it is {numbers['tc']}"
