"""One TLP header, decoded in plain Python: what an AER log or a debugger shows, with everything that can be said about it.

Fields have the names of :mod:`ptttool.tlp.columns`. Sections and tables are those of the PCIe base specification 6.x, non-flit headers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import Struct

from ptttool.diagnostics import Diagnostic
from ptttool.documents import Hex, document
from ptttool.errors import UsageError
from ptttool.pci import format_id
from ptttool.tlp import codes
from ptttool.tlp.columns import TLP_SCHEMA
from ptttool.tlp.diagnose import diagnose, unknown_type
from ptttool.tlp.meaning import meaning_of

Value = int | str


class Word(Hex):
    """A DW; in JSON all of its digits."""

    digits = 8


class Layout(int):
    """Layout of a header: 1 if spare bits hold the fields of PCIe 6 parts, else 0; a word in JSON."""

    json_type: ClassVar[Any] = str

    def as_json(self) -> str:
        """Return the word."""
        return "v1" if self == 1 else "legacy"


@document("tlp")
class Header(Struct, frozen=True):
    """One TLP header, decoded.

    Parameters
    ----------
    words : tuple of Word
        The header DWs in hexadecimal.
    prefix : Word or None
        The TLP prefix in hexadecimal.
    pattern : Layout
        Layout of the header: `legacy`, or `v1` of PCIe 6 parts.
    fields : Mapping[str, int or str]
        The fields that a TLP of this kind has, by name; numbers, and names of kinds, classes and statuses.
    meaning : Mapping[str, str]
        What fields mean, by name: one sentence for each field that needs one.
    diagnostics : tuple of Diagnostic
        What a well-formed header does not have.
    """

    words: tuple[Word, ...]
    prefix: Word | None
    pattern: Layout
    fields: Mapping[str, Value]
    meaning: Mapping[str, str] = {}
    diagnostics: tuple[Diagnostic, ...] = ()

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield name and text of every field: IDs as ``01:00.0``, addresses in hexadecimal."""
        for name, value in self.fields.items():
            yield name, _text(name, value)


def _text(name: str, value: Value) -> str:
    style = TLP_SCHEMA[name].shown_style if name in TLP_SCHEMA else "int"
    if isinstance(value, str):
        return value
    if style == "id":
        return format_id(value)
    return f"{value:#x}" if style == "hex" else str(value)


def decode_header(words: Sequence[int], *, pattern: int = 0, prefix: int | None = None) -> Header:
    """Decode a standard header.

    Parameters
    ----------
    words : sequence of int
        3 or 4 DWs, the most significant bit first: ``0x60000001`` is a MWr. A fourth DW after a header of three DWs (an AER log always
        has four) is ignored, except with pattern 1, which keeps fields there.
    pattern : int
        1 if spare header bits hold the fields of PCIe 6 parts.
    prefix : int, optional
        The TLP prefix before the header.

    Raises
    ------
    UsageError
        The number of DWs does not fit the header, or a DW does not have 32 bits: ``code`` is ``bad-header``.
    """
    if not 3 <= len(words) <= 4:
        hint = "give 3 or 4 DWs, such as: 60000001 01001e0f 00000004 02810040"
        raise UsageError(f"a TLP header has 3 or 4 DWs, not {len(words)}", hint=hint, code="bad-header", words=len(words))
    for word in (*words, prefix or 0):
        if not 0 <= word < 1 << 32:
            raise UsageError(f"{word:#x} is not a 32-bit DW", code="bad-header")
    code = words[0] >> 24
    tlp_type = codes.TYPES.get(code)
    dws, before = tuple(map(Word, words)), None if prefix is None else Word(prefix)
    fields: dict[str, Value] = {"kind": "Unknown", "length_dw": words[0] & 0x3FF or 1024}
    if prefix:
        fields["prefix"] = prefix
    if tlp_type is None:
        return Header(dws, before, Layout(pattern), fields, {}, (unknown_type(code),))
    if tlp_type.four_dws and len(words) == 3:
        raise UsageError(f"the header of a {tlp_type.kind} with code {code:#04x} has 4 DWs, not 3", code="bad-header")
    dw = (*words, 0)[:4] if len(words) == 3 else tuple(words)
    if len(words) == 3:  # pattern v1 keeps fields in the word that was not given
        pattern = 0
    extra = dw[3] if tlp_type.four_dws or pattern == 1 else 0
    fields = _common(tlp_type, dw[0]) | ({"prefix": prefix} if prefix else {})
    reader = {"completion": _completion, "message": _message, "config": _config}.get(tlp_type.family, _request)
    reader(fields, tlp_type, (dw[0], dw[1], dw[2], extra), pattern, prefix or 0)
    if tlp_type.family not in ("completion", "message"):
        fields["requested_bytes"] = _requested(tlp_type, fields)
    ordered = {name: fields[name] for name in (*TLP_SCHEMA.names, *_EXTRA_FIELDS) if name in fields}
    meaning = meaning_of(tlp_type, ordered, words[2] & 0xFFFF)
    return Header(dws, before, Layout(pattern), ordered, meaning, tuple(diagnose(tlp_type, ordered)))


def _requested(tlp_type: codes.TlpType, fields: Mapping[str, Any]) -> int:
    """Return the bytes that a request asks for or writes."""
    asked = 4 * int(fields["length_dw"])
    if tlp_type.kind == "CAS":
        return asked // 2
    if "first_be" not in fields:
        return asked
    single = fields["length_dw"] == 1
    return asked - codes.disabled_bytes(fields["first_be"], fields["last_be"], is_single=single, is_write=tlp_type.has_data)


# Fields of pattern v1 that no column has.
_EXTRA_FIELDS = ("t", "tv", "hv", "ama", "av", "fm", "dsv")


def _common(tlp_type: codes.TlpType, dw0: int) -> dict[str, Value]:
    length = dw0 & 0x3FF or 1024
    return {
        "kind": tlp_type.kind,
        "class": tlp_type.tlp_class,
        "length_dw": length,
        "payload_bytes": 4 * length if tlp_type.has_data else 0,
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


def _completion(fields: dict[str, Value], _tlp_type: codes.TlpType, dw: Words, pattern: int, _prefix: int) -> None:
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


def _message(fields: dict[str, Value], tlp_type: codes.TlpType, dw: Words, _pattern: int, _prefix: int) -> None:
    fields["requester"] = dw[1] >> 16
    fields["tag"] = _tag_98(dw[0]) | dw[1] >> 8 & 0xFF
    fields["message"] = dw[1] & 0xFF
    fields["routing"] = tlp_type.code & 0x7
    if fields["routing"] == codes.ROUTED_BY_ID:
        fields["destination"] = dw[2] >> 16


def _config(fields: dict[str, Value], _tlp_type: codes.TlpType, dw: Words, pattern: int, _prefix: int) -> None:
    fields["requester"] = dw[1] >> 16
    high = (dw[3] >> 16 & 0xF) << 10 if pattern == 1 else 0
    fields["tag"] = high | _tag_98(dw[0]) | dw[1] >> 8 & 0xFF
    fields["first_be"], fields["last_be"] = dw[1] & 0xF, dw[1] >> 4 & 0xF
    fields["destination"] = dw[2] >> 16
    fields["register"] = dw[2] & 0xFFC
    if pattern == 1:
        fields["segment"] = dw[3] >> 23 & 0xFF
        fields |= {"dsv": dw[3] >> 22 & 1, "tv": dw[3] >> 21 & 1, "t": dw[3] >> 20 & 1}


def _request(fields: dict[str, Value], tlp_type: codes.TlpType, dw: Words, pattern: int, prefix: int) -> None:
    """Memory, I/O and atomic requests."""
    fields["requester"] = dw[1] >> 16
    tag = _tag_98(dw[0]) | dw[1] >> 8 & 0xFF
    high_st = 0
    if tlp_type.four_dws:
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
            if tlp_type.family != "io":
                high_st = dw[3] >> 16 & 0xFF
                fields |= {"hv": dw[3] >> 12 & 0x3, "ama": dw[3] >> 9 & 0x7, "av": dw[3] >> 8 & 1}
    if tlp_type.family != "io":
        fields["at"] = dw[0] >> 10 & 0x3
    hinted = bool(fields["th"]) and tlp_type.family != "io"
    if hinted:
        fields["ph"] = low & 0x3
    if prefix >> 24 == codes.TPH_PREFIX:
        high_st = prefix >> 16 & 0xFF
    if hinted and tlp_type.kind == "MWr":
        fields["st"] = high_st << 8 | dw[1] >> 8 & 0xFF
    else:
        fields["tag"] = tag
    if hinted and tlp_type.kind in ("MRd", "DMWr"):
        fields["st"] = high_st << 8 | dw[1] & 0xFF
    elif tlp_type.family != "atomic":
        fields["first_be"], fields["last_be"] = dw[1] & 0xF, dw[1] >> 4 & 0xF
