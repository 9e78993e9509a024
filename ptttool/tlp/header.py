"""One TLP header taken apart, in plain Python: what an AER log or a debugger gives, with everything that can be said of it.

Fields have the names of :mod:`ptttool.tlp.columns`. Sections and tables are those of the PCIe base specification 6.x, non-flit headers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ptttool.errors import UsageError
from ptttool.pci import format_id
from ptttool.tlp import codes
from ptttool.tlp.columns import BY_NAME
from ptttool.tlp.oddities import oddities

Value = int | str


@dataclass(frozen=True)
class Header:
    """A header. ``fields``: by name, absent ones left out, numbers and the names of enums; ``meaning``: sentences on some, by name;
    ``oddities``: what a well-formed header would not have, in words."""

    words: tuple[int, ...]
    prefix: int | None
    pattern: int
    fields: dict[str, Value]
    meaning: dict[str, str] = field(default_factory=dict)
    oddities: tuple[str, ...] = ()

    def texts(self) -> Iterator[tuple[str, str]]:
        """Name and text of every field: IDs as ``01:00.0``, addresses in hexadecimal."""
        for name, value in self.fields.items():
            yield name, _text(name, value)


def _text(name: str, value: Value) -> str:
    style = BY_NAME[name].style if name in BY_NAME else "int"
    if isinstance(value, str):
        return value
    if style == "id":
        return format_id(value)
    return f"{value:#x}" if style == "hex" else str(value)


def decode_header(words: Sequence[int], *, pattern: int = 0, prefix: int | None = None) -> Header:
    """A standard header of 3 or 4 words, most significant bit first (``0x60000001`` is a MWr).

    A fourth word after a three-word header (an AER log always has four) is left alone, but for ``pattern`` 1, which keeps fields
    there. ``prefix``: the TLP prefix before the header. Wrong numbers of words are a :class:`~ptttool.errors.UsageError`.
    """
    if not 3 <= len(words) <= 4:
        raise UsageError(f"a TLP header has 3 or 4 words, not {len(words)}", code="bad-header")
    for word in (*words, prefix or 0):
        if not 0 <= word < 1 << 32:
            raise UsageError(f"{word:#x} is no 32-bit word", code="bad-header")
    code = words[0] >> 24
    known = codes.TYPES.get(code)
    fields: dict[str, Value] = {"kind": "Unknown", "length_dw": words[0] & 0x3FF or 1024}
    if prefix:
        fields["prefix"] = prefix
    if known is None:
        name = codes.code_name(code)
        odd = f"Fmt/Type code {code:#04x} is {name}: nothing more can be said"
        if code >> 5 == codes.PREFIX_FMT:
            odd = f"the first word is a TLP {name}, not a header: give it as the prefix"
        return Header(tuple(words), prefix, pattern, fields, {}, (odd,))
    if known.four_words and len(words) == 3:
        raise UsageError(f"the header of a {known.kind} with code {code:#04x} has 4 words, not 3", code="bad-header")
    dw = (*words, 0)[:4] if len(words) == 3 else tuple(words)
    if len(words) == 3:  # pattern v1 keeps fields in the word that was not given
        pattern = 0
    extra = dw[3] if known.four_words or pattern == 1 else 0
    fields = _common(known, dw[0]) | ({"prefix": prefix} if prefix else {})
    reader = {"completion": _completion, "message": _message, "config": _config}.get(known.family, _request)
    reader(fields, known, (dw[0], dw[1], dw[2], extra), pattern, prefix or 0)
    ordered = {name: fields[name] for name in (*BY_NAME, *_EXTRA_FIELDS) if name in fields}
    return Header(tuple(words), prefix, pattern, ordered, _meaning(known, ordered, words), tuple(oddities(known, ordered)))


# Fields of pattern v1 that no column has.
_EXTRA_FIELDS = ("t", "tv", "hv", "ama", "av", "fm", "dsv")


def _common(known: codes.TlpType, dw0: int) -> dict[str, Value]:
    length = dw0 & 0x3FF or 1024
    return {
        "kind": known.kind,
        "class": known.tlp_class,
        "length_dw": length,
        "payload_bytes": 4 * length if known.has_data else 0,
        "tc": dw0 >> 20 & 0x7,
        "attr": (dw0 >> 18 & 1) << 2 | dw0 >> 12 & 0x3,
        "th": dw0 >> 16 & 1,
        "td": dw0 >> 15 & 1,
        "ep": dw0 >> 14 & 1,
        "ln": dw0 >> 17 & 1,
    }


def _tag_98(dw0: int) -> int:
    return (dw0 >> 23 & 1) << 9 | (dw0 >> 19 & 1) << 8


Words = tuple[int, int, int, int]


def _completion(fields: dict[str, Value], _known: codes.TlpType, dw: Words, pattern: int, _prefix: int) -> None:
    fields["completer"] = dw[1] >> 16
    fields["status"] = codes.status_of(dw[1] >> 13 & 0x7)
    fields["bcm"] = dw[1] >> 12 & 1
    fields["byte_count"] = dw[1] & 0xFFF or 4096
    fields["requester"] = dw[2] >> 16
    high = (dw[3] & 0xF) << 10 if pattern == 1 else 0
    fields["tag"] = high | _tag_98(dw[0]) | dw[2] >> 8 & 0xFF
    fields["lower_address"] = dw[2] & 0x7F
    if pattern == 1:
        fields["segment"] = dw[3] >> 24
        fields["completer_segment"] = dw[3] >> 16 & 0xFF
        fields |= {"dsv": dw[3] >> 15 & 1, "tv": dw[3] >> 5 & 1, "t": dw[3] >> 4 & 1}


def _message(fields: dict[str, Value], known: codes.TlpType, dw: Words, _pattern: int, _prefix: int) -> None:
    fields["requester"] = dw[1] >> 16
    fields["tag"] = _tag_98(dw[0]) | dw[1] >> 8 & 0xFF
    fields["message"] = dw[1] & 0xFF
    fields["routing"] = known.code & 0x7
    if fields["routing"] == codes.ROUTED_BY_ID:
        fields["destination"] = dw[2] >> 16


def _config(fields: dict[str, Value], _known: codes.TlpType, dw: Words, pattern: int, _prefix: int) -> None:
    fields["requester"] = dw[1] >> 16
    high = (dw[3] >> 16 & 0xF) << 10 if pattern == 1 else 0
    fields["tag"] = high | _tag_98(dw[0]) | dw[1] >> 8 & 0xFF
    fields["first_be"], fields["last_be"] = dw[1] & 0xF, dw[1] >> 4 & 0xF
    fields["destination"] = dw[2] >> 16
    fields["register"] = dw[2] & 0xFFC
    if pattern == 1:
        fields["segment"] = dw[3] >> 23 & 0xFF
        fields |= {"dsv": dw[3] >> 22 & 1, "tv": dw[3] >> 21 & 1, "t": dw[3] >> 20 & 1}


def _request(fields: dict[str, Value], known: codes.TlpType, dw: Words, pattern: int, prefix: int) -> None:
    """Memory, I/O and atomic requests."""
    fields["requester"] = dw[1] >> 16
    tag = _tag_98(dw[0]) | dw[1] >> 8 & 0xFF
    high_st = 0
    if known.four_words:
        low = dw[3]
        fields["address"] = (dw[2] & 0xFFFF if pattern == 1 else dw[2]) << 32 | low & ~3
        if pattern == 1:
            tag |= (dw[2] >> 16 & 0xF) << 10
            fields["segment"] = dw[2] >> 23 & 0xFF
            fields |= {"tv": dw[2] >> 21 & 1, "t": dw[2] >> 20 & 1}
    else:
        low = dw[2]
        fields["address"] = low & ~3
        if pattern == 1:
            tag |= (dw[3] & 0xF) << 10
            fields["segment"] = dw[3] >> 24
            fields |= {"fm": dw[3] >> 7 & 1, "tv": dw[3] >> 5 & 1, "t": dw[3] >> 4 & 1}
            if known.family != "io":
                high_st = dw[3] >> 16 & 0xFF
                fields |= {"hv": dw[3] >> 12 & 0x3, "ama": dw[3] >> 9 & 0x7, "av": dw[3] >> 8 & 1}
    if known.family != "io":
        fields["at"] = dw[0] >> 10 & 0x3
    hinted = bool(fields["th"]) and known.family != "io"
    if hinted:
        fields["ph"] = low & 0x3
    if prefix >> 24 == codes.TPH_PREFIX:
        high_st = prefix >> 16 & 0xFF
    if hinted and known.kind == "MWr":
        fields["st"] = high_st << 8 | dw[1] >> 8 & 0xFF
    else:
        fields["tag"] = tag
    if hinted and known.kind in ("MRd", "DMWr"):
        fields["st"] = high_st << 8 | dw[1] & 0xFF
    elif known.family != "atomic":
        fields["first_be"], fields["last_be"] = dw[1] & 0xF, dw[1] >> 4 & 0xF


def _meaning(known: codes.TlpType, fields: dict[str, Value], words: Sequence[int]) -> dict[str, str]:
    """Sentences on the fields that need words."""
    number = {name: value for name, value in fields.items() if isinstance(value, int)}
    told = {"class": {"P": "posted", "NP": "non-posted: a completion answers it", "CPL": "completion"}[known.tlp_class]}
    attr = number["attr"]
    names = [name for bit, name in ((4, "ID-based ordering"), (2, "relaxed ordering"), (1, "no snoop")) if attr & bit]
    if names:
        told["attr"] = ", ".join(names)
    if number.get("at"):
        told["at"] = codes.ADDRESS_TYPES[number["at"]]
    if "ph" in number:
        told["ph"] = codes.PROCESSING_HINTS[number["ph"]]
    if number["ep"]:
        told["ep"] = "poisoned: the data are known to be bad"
    if number["td"]:
        told["td"] = "an ECRC follows"
    if "prefix" in number:
        told["prefix"] = prefix_text(number["prefix"])
    if known.family in ("message", "completion") and not known.has_data:
        told["length_dw"] = f"reserved in a {known.kind}: it has no data"
    if known.family == "message":
        told["message"] = codes.message_name(number["message"])
        if number["message"] in codes.VENDOR_MESSAGES:
            told["message"] += f", Vendor ID {words[2] & 0xFFFF:#06x}"
        told["routing"] = codes.ROUTINGS[number["routing"]]
    elif known.family == "completion":
        told["status"] = codes.STATUS_NAMES[str(fields["status"])]
        told["byte_count"] = completion_text(known, number["byte_count"], number["length_dw"], number["lower_address"])
    elif "first_be" in number:
        enabled = enabled_bytes(number["length_dw"], number["first_be"], number["last_be"])
        told["first_be"] = f"{enabled} of {4 * number['length_dw']} bytes enabled"
        if known.kind in ("MRd", "MRdLk") and (number["length_dw"] == 1 or (number["first_be"] and number["last_be"])):
            asked = byte_count(number["length_dw"], number["first_be"], number["last_be"])
            told["length_dw"] = f"asks for {asked} bytes, from the first to the last enabled"
        if not enabled and number["length_dw"] == 1:
            told["first_be"] = "no byte enabled: a flush" if known.kind in ("MRd", "MRdLk") else "no byte enabled: nothing is written"
    elif known.kind == "MRd":
        told["length_dw"] = f"asks for {4 * number['length_dw']} bytes: all are enabled where the field holds a Steering Tag"
    return told


def prefix_text(prefix: int) -> str:
    """A TLP prefix in words: its name, the PASID, the upper byte of a Steering Tag; further bits are shown raw by the prefix itself."""
    code = prefix >> 24
    name = codes.PREFIXES.get(code, "unknown")
    if code == codes.PASID_PREFIX:
        return f"PASID {prefix & 0xFFFFF:#07x}"
    if code == codes.TPH_PREFIX:
        return f"TPH, ST[15:8] {prefix >> 16 & 0xFF:#04x}"
    return name


def completion_text(known: codes.TlpType, count: int, length: int, lower_address: int) -> str:
    """What a completion's Byte Count says (section 2.3.1.1), assuming that it answers a memory read."""
    if not known.has_data:
        return f"{count} bytes were still to come" if count != 4 else "no data"
    carried = min(count, 4 * length - (lower_address & 3))
    rest = count - carried
    return f"carries {carried} of {count} bytes that were still to come" + (f", {rest} more follow" if rest else ": the last piece")


def enabled_bytes(length: int, first: int, last: int) -> int:
    """Bytes that the byte enables let through: those between the first and the last word are all enabled."""
    if length == 1:
        return first.bit_count()
    return first.bit_count() + last.bit_count() + 4 * (length - 2)


def byte_count(length: int, first: int, last: int) -> int:
    """Bytes from the first to the last enabled one, as completions count them (section 2.3.1.1); 1 where none is enabled."""
    if length == 1:
        return first.bit_length() - _lowest(first) if first else 1
    return 4 * length - _lowest(first) - (4 - last.bit_length())


def _lowest(enables: int) -> int:
    return (enables & -enables).bit_length() - 1 if enables else 0
