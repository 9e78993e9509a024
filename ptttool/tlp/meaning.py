"""What the fields of one TLP header mean: sentences (PCIe base specification 6.x, non-flit headers)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from ptttool.tlp import codes

_CLASSES = {"P": "posted", "NP": "non-posted: a completion answers it", "CPL": "completion"}
_ATTRIBUTES = ((4, "ID-based ordering"), (2, "relaxed ordering"), (1, "no snoop"))
_READS = ("MRd", "MRdLk")


class _Subject(Struct, frozen=True):
    """A header whose fields are explained: its type, its fields that are numbers, its Completion Status, the Vendor ID of a message."""

    type: codes.TlpType
    number: Mapping[str, int]
    status: str | None
    vendor: int

    @property
    def enables(self) -> tuple[int, int, int]:
        """Length in DWs, First and Last DW Byte Enable."""
        return self.number["length_dw"], self.number["first_be"], self.number["last_be"]


def meaning_of(tlp_type: codes.TlpType, fields: Mapping[str, int | str], vendor: int) -> dict[str, str]:
    """Explain the fields of a header.

    Parameters
    ----------
    tlp_type : TlpType
        What the TLP is.
    fields : Mapping of str to (int or str)
        Its fields by the names of :mod:`ptttool.tlp.columns`.
    vendor : int
        What a vendor-defined message has for a Vendor ID.

    Returns
    -------
    dict of str to str
        A sentence by the name of the field, for fields that need one.
    """
    numbers = {name: value for name, value in fields.items() if isinstance(value, int)}
    subject = _Subject(tlp_type, numbers, str(fields["status"]) if "status" in fields else None, vendor)
    sentences = {"class": _CLASSES[tlp_type.tlp_class]}
    for name, explain in _SENTENCES.items():
        if name in fields:
            sentence = explain(subject)
            if sentence:
                sentences[name] = sentence
    return sentences


def _attr(header: _Subject) -> str:
    return ", ".join(name for bit, name in _ATTRIBUTES if header.number["attr"] & bit)


def _length(header: _Subject) -> str | None:
    kind, family = header.type.kind, header.type.family
    if family in ("message", "completion"):
        return None if header.type.has_data else f"reserved in a {kind}: it has no data"
    if "first_be" in header.number:
        length, first, last = header.enables
        if kind in _READS and (length == 1 or (first and last)):
            return f"asks for {byte_count(length, first, last)} bytes, from the first to the last enabled"
        return None
    if kind == "MRd":
        return f"asks for {4 * header.number['length_dw']} bytes: all are enabled where the field holds a Steering Tag"
    return None


def _first_be(header: _Subject) -> str:
    length, first, last = header.enables
    enabled = enabled_bytes(length, first, last)
    if not enabled and length == 1:
        return "no byte enabled: a flush" if header.type.kind in _READS else "no byte enabled: nothing is written"
    return f"{enabled} of {4 * length} bytes enabled"


def _message(header: _Subject) -> str:
    code = header.number["message"]
    vendor = f", Vendor ID {header.vendor:#06x}" if code in codes.VENDOR_MESSAGES else ""
    return codes.message_name(code) + vendor


def _byte_count(header: _Subject) -> str:
    number = header.number
    return completion_text(header.type, number["byte_count"], number["length_dw"], number["lower_address"])


_SENTENCES: dict[str, Callable[[_Subject], str | None]] = {
    "attr": _attr,
    "at": lambda header: codes.ADDRESS_TYPES[header.number["at"]] if header.number["at"] else None,
    "ph": lambda header: codes.PROCESSING_HINTS[header.number["ph"]],
    "ep": lambda header: "poisoned: the data are known to be bad" if header.number["ep"] else None,
    "td": lambda header: "an ECRC follows" if header.number["td"] else None,
    "prefix": lambda header: prefix_text(header.number["prefix"]),
    "length_dw": _length,
    "first_be": _first_be,
    "message": _message,
    "routing": lambda header: codes.ROUTINGS[header.number["routing"]],
    "status": lambda header: codes.STATUS_NAMES[str(header.status)],
    "byte_count": _byte_count,
}
"""How a field is explained, by its name; None or an empty text where it needs no sentence."""


def prefix_text(prefix: int) -> str:
    """Describe a TLP prefix: its name, the PASID, the upper byte of a Steering Tag. The prefix itself shows further bits raw."""
    code = prefix >> 24
    name = codes.PREFIXES.get(code, "unknown")
    if code == codes.PASID_PREFIX:
        return f"PASID {prefix & 0xFFFFF:#07x}"
    if code == codes.TPH_PREFIX:
        return f"TPH, ST[15:8] {prefix >> 16 & 0xFF:#04x}"
    return name


def completion_text(tlp_type: codes.TlpType, count: int, length: int, lower_address: int) -> str:
    """Describe what a completion's Byte Count says, assuming that it answers a memory read.

    Parameters
    ----------
    tlp_type : TlpType
        The completion's type.
    count : int
        Byte Count (section 2.3.1.1): bytes that remain, with those that it carries.
    length : int
        Length in DWs.
    lower_address : int
        Lower Address.
    """
    if not tlp_type.has_data:
        return f"{count} bytes were still to come" if count != 4 else "no data"
    carried = min(count, 4 * length - (lower_address & 3))
    rest = count - carried
    return f"carries {carried} of {count} bytes that were still to come" + (f", {rest} more follow" if rest else ": the last piece")


def enabled_bytes(length: int, first: int, last: int) -> int:
    """Count the bytes that the byte enables enable: all bytes between the first and the last DW are."""
    if length == 1:
        return first.bit_count()
    return first.bit_count() + last.bit_count() + 4 * (length - 2)


def byte_count(length: int, first: int, last: int) -> int:
    """Count the bytes from the first to the last enabled one, as completions do (section 2.3.1.1); 1 if no byte is enabled."""
    if length == 1:
        return first.bit_length() - _lowest(first) if first else 1
    return 4 * length - _lowest(first) - (4 - last.bit_length())


def _lowest(enables: int) -> int:
    return (enables & -enables).bit_length() - 1 if enables else 0
