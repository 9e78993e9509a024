"""Where fields stand: taken out of their places, they are what the decoder says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.decoders.hisi_ptt.layout import standard_dw0
from ptttool.tlp import codes
from ptttool.tlp.columns import DW_COLUMNS
from ptttool.tlp.header import decode_header
from ptttool.tlp.places import places_of

WORD = st.integers(0, (1 << 32) - 1)
# Not numbers in the header, or numbers that follow from others.
DERIVED = {"kind", "class", "payload_bytes", "requested_bytes", "status", "prefix"}


def taken(words: list[int], bits: tuple[tuple[int, int, int], ...]) -> int:
    value = 0
    for dw, high, low in bits:
        value = value << (high - low + 1) | words[dw] >> low & (1 << (high - low + 1)) - 1
    return value


def as_read(name: str, value: int) -> int:
    if name in ("register", "address"):
        return value << 2
    return {"length_dw": 1024, "byte_count": 4096}.get(name, 0) if value == 0 else value


@given(st.sampled_from(sorted(codes.TYPES)), st.tuples(WORD, WORD, WORD, WORD), st.integers(0, 1))
def test_fields_are_in_their_places(code: int, words: tuple[int, ...], pattern: int) -> None:
    dws = [code << 24 | words[0] & 0xFFFFFF, *words[1:]]
    header = decode_header(dws, pattern=pattern)
    places = places_of(codes.TYPES[code], pattern=pattern, th=bool(header.fields["th"]))
    for name, value in header.fields.items():
        if name not in DERIVED:
            assert as_read(name, taken(dws, places[name])) == value, name
    assert taken(dws, places["kind"]) == code


@pytest.mark.parametrize("code", sorted(codes.TYPES))
@given(st.tuples(WORD, WORD, WORD, WORD))
def test_fields_of_4dw_records_are_in_their_places(code: int, words: tuple[int, ...]) -> None:
    import numpy as np

    recorded = [(code >> 5 & 3) << 30 | (code & 31) << 25 | words[0] & 0x1FFFFFF, *words[1:]]
    dws = [int(standard_dw0(np.array([recorded[0]], dtype=np.uint32))[0]), *words[1:]]
    header = decode_header(dws)
    kind = codes.TYPES[dws[0] >> 24]
    places = places_of(kind, th=bool(header.fields["th"]), is_4dw=True)
    for name in ("length_dw", "th", "tag", "requester", "address", "completer", "register", "routing"):
        if name in header.fields:
            assert as_read(name, taken(recorded, places[name])) == header.fields[name], name
    assert taken(recorded, places["time"]) == recorded[0] & 0x7FF
    assert len(DW_COLUMNS) > max(dw for bits in places.values() for dw, _, _ in bits)
