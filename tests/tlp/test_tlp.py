"""One header at a time: codes, fields, DWs, what is odd; and the same answers as the decoder in bulk gives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.documents import to_json
from ptttool.errors import UsageError
from ptttool.tlp import Header, codes, decode_header
from ptttool.tlp.columns import ALL_COLUMNS, CLASSES, KINDS
from ptttool.tlp.meaning import byte_count, enabled_bytes
from tests.support.records import ALL_CODES, KNOWN_CODES, WORD, decode_block, eight

# Columns of a header alone: not of the record around it.
HEADER_COLUMNS = tuple(name for name in ALL_COLUMNS if name not in ("index", "offset", "cpu", "time", "so", "direction"))


def test_codes_are_those_of_the_specification() -> None:
    assert set(codes.TYPES) == set(KNOWN_CODES)
    assert {known.kind for known in codes.TYPES.values()} == set(KINDS) - {"Unknown"}
    assert {known.tlp_class for known in codes.TYPES.values()} == set(CLASSES)
    assert codes.TYPES[0x5B].kind == codes.TYPES[0x7B].kind == "DMWr"
    assert codes.TYPES[0x7B].tlp_class == "NP"
    assert codes.TYPES[0x1B].kind == "TCfgRd"
    assert [codes.TYPES[code].tlp_class for code in (0x60, 0x34, 0x73, 0x42, 0x4C, 0x0B)] == ["P", "P", "P", "NP", "NP", "CPL"]
    assert all(codes.TYPES[code].four_dws for code in range(0x30, 0x38))


def test_code_names() -> None:
    assert codes.code_name(0x60) == "MWr"
    assert codes.code_name(0x03) == "MRd (flit code)"
    assert codes.code_name(0x91) == "prefix (PASID)"
    assert codes.code_name(0x9A) == "prefix (reserved)"
    assert codes.code_name(0x1F) == "reserved"


@given(
    code=st.sampled_from(ALL_CODES),
    rest=st.integers(0, 0xFFFFFF),
    dw1=WORD,
    dw2=WORD,
    dw3=WORD,
    pattern=st.sampled_from((0, 1)),
    data=st.data(),
)
def test_same_answers_as_in_bulk(code: int, rest: int, dw1: int, dw2: int, dw3: int, pattern: int, data: st.DataObject) -> None:
    prefix = data.draw(st.one_of(st.just(0), WORD, st.just(0x90AB0000)))
    header = decode_header((code << 24 | rest, dw1, dw2, dw3), pattern=pattern, prefix=prefix)
    record = np.array([eight(code << 24 | rest, dw1, dw2, dw3, prefix=prefix)], dtype="<u4")
    row = decode_block(record, Layout(True, pattern), HEADER_COLUMNS).row(0, named=True)
    one = {name: value for name, value in header.fields.items() if name in HEADER_COLUMNS}
    assert one == {name: value for name, value in row.items() if value is not None}


def test_the_header_of_an_aer_log() -> None:
    header = decode_header((0x60000001, 0x01001E0F, 0x00000004, 0x02810040))
    assert header.fields == {
        "kind": "MWr", "class": "P", "length_dw": 1, "payload_bytes": 4, "requested_bytes": 4, "requester": 0x0100, "tag": 0x1E,
        "address": 0x4_0281_0040, "first_be": 0xF, "last_be": 0, "tc": 0, "attr": 0, "at": 0, "th": 0, "td": 0, "ep": 0, "ln": 0,
    }  # fmt: skip
    assert header.meaning["first_be"] == "4 of 4 bytes enabled"
    assert header.diagnostics == ()
    texts = dict(header.texts())
    assert texts["requester"] == "01:00.0" and texts["address"] == "0x402810040" and texts["tag"] == "30"
    assert to_json(header)["words"] == ["0x60000001", "0x01001e0f", "0x00000004", "0x02810040"]


def test_the_fourth_word_after_a_three_word_header_is_no_field() -> None:
    with_rest = decode_header((0x00000001, 0x0000000F, 0x1000, 0xDEADBEEF))
    assert with_rest.fields == decode_header((0x00000001, 0x0000000F, 0x1000)).fields


def test_pattern_v1_names_its_own_bits() -> None:
    fields = decode_header(
        (0x00010001, 0x0000000F, 0x1002, 0x05AB0000 | 2 << 12 | 5 << 9 | 1 << 8 | 1 << 7 | 1 << 4 | 0x3), pattern=1
    ).fields
    assert {name: fields[name] for name in ("segment", "st", "hv", "ama", "av", "fm", "tv", "t")} == {
        "segment": 5, "st": 0xAB0F, "hv": 2, "ama": 5, "av": 1, "fm": 1, "tv": 0, "t": 1,
    }  # fmt: skip
    assert decode_header((0x4A000001, 4, 0, 0x8000), pattern=1).fields["dsv"] == 1


@pytest.mark.parametrize("words", [(), (0x60000001,), (1, 2), (1, 2, 3, 4, 5)])
def test_wrong_number_of_words(words: tuple[int, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        decode_header(words)
    assert caught.value.code == "bad-header"


def test_a_four_word_header_needs_its_fourth_word() -> None:
    with pytest.raises(UsageError) as caught:
        decode_header((0x60000001, 0, 0))
    assert caught.value.code == "bad-header"


def test_words_have_32_bits() -> None:
    for words in ((1 << 32, 0, 0), (0, 0, -1)):
        with pytest.raises(UsageError) as caught:
            decode_header(words)
        assert caught.value.code == "bad-header"


def test_unknown_codes_are_named_not_guessed_at() -> None:
    flit = decode_header((0x03000001, 1, 2, 3))
    assert flit.fields == {"kind": "Unknown", "length_dw": 1}
    assert codes_of(0x03000001, 1, 2, 3) == ["unknown-type"]
    assert codes_of(0x91012345, 0x60000001, 2) == ["prefix-as-header"]


def codes_of(*words: int) -> list[str]:
    return [diagnostic.code for diagnostic in decode_header(words).diagnostics]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((0x40000001, 0x010000FF, 0x1000), "last-be"),
        ((0x40000002, 0x0100000F, 0x1000), "last-be"),
        ((0x40000002, 0x010000F0, 0x1000), "first-be"),
        ((0x40000003, 0x010000F5, 0x1000), "byte-enables-with-gaps"),
        ((0x40000002, 0x010000F5, 0x1004), "byte-enables-with-gaps"),
        ((0x04000002, 0x0000000F, 0x01000000), "length"),
        ((0x04003001, 0x0000000F, 0x01000000), "attr"),
        ((0x42100001, 0x0000000F, 0x1000), "traffic-class"),
        ((0x04010001, 0x0000000F, 0x01000000), "hint"),
        ((0x01010001, 0x0000000F, 0x1000), "hint"),
        ((0x00000C01, 0x0000000F, 0x1000), "address-type"),
        ((0x00000002, 0x010000FF, 0x1FFC), "crosses-4k"),
        ((0x20000001, 0x0100000F, 0, 0x1000), "long-header"),
        ((0x4C000003, 0x01000000, 0x1000), "length"),
        ((0x4E000004, 0x01000000, 0x1004), "unaligned"),
        ((0x0A000000, 0x00006004, 0x01000000), "status"),
        ((0x4A000001, 0x00002004, 0x01000000), "data-with-error"),
        ((0x0B000000, 0x00000004, 0x01000000), "locked-without-data"),
        ((0x4A000001, 0x00001004, 0x01000000), "bcm"),
        ((0x36000000, 0x01000030, 0, 0), "reserved-routing"),
        ((0x34000000, 0x01000030, 0, 0), "routing"),
        ((0x30000000, 0x010000EE, 0, 0), "reserved-message"),
        ((0x34000000, 0x01000050, 0, 0), "message-data"),
        ((0x34300000, 0x01000020, 0, 0), "traffic-class"),
        ((0x00004001, 0x0000000F, 0x1000), "poisoned-nothing"),
    ],
)
def test_what_is_odd(words: tuple[int, ...], code: str) -> None:
    assert code in codes_of(*words)


@pytest.mark.parametrize(
    "words",
    [
        (0x40000002, 0x010000F5, 0x1000),  # two words from a multiple of 8: any enables
        (0x40000003, 0x0100001E, 0x1000),
        (0x00000001, 0x01000000, 0x1000),  # a flush
        (0x00000002, 0x010000FF, 0x1FF8),
        (0x4E000004, 0x010000FF, 0x1008),
        (0x30000000, 0x01000030, 0, 0),
        (0x74000001, 0x01000050, 0, 0),
        (0x34000000, 0x01000020, 0, 0),
        (0x4A000010, 0x00000040, 0x01000100),
        (0x0A000000, 0x00002004, 0x01000000),
    ],
)
def test_well_formed_headers_are_not_odd(words: tuple[int, ...]) -> None:
    assert codes_of(*words) == []


def meaning(*words: int, prefix: int | None = None) -> Mapping[str, str]:
    return decode_header(words, prefix=prefix).meaning


def test_meaning_in_words() -> None:
    assert meaning(0x34000000, 0x01000020, 0, 0)["message"] == "Assert_INTA"
    assert meaning(0x35000000, 0x0100001B, 0, 0) == {
        "class": "posted", "message": "PME_TO_Ack", "routing": "gathered and sent to the root complex",
        "length_dw": "reserved in a Msg: it has no data",
    }  # fmt: skip
    assert meaning(0x0A000000, 0x00004004, 0x01000000)["status"] == "Request Retry Status"
    assert meaning(0x4A000010, 0x00000100, 0x01000100)["byte_count"] == "carries 64 of 256 bytes that were still to come, 192 more follow"
    assert meaning(0x4A000010, 0x0000003D, 0x01000103)["byte_count"] == "carries 61 of 61 bytes that were still to come: the last piece"
    assert meaning(0x00000001, 0x01000000, 0x1000)["first_be"] == "no byte enabled: a flush"
    assert meaning(0x00000003, 0x0100001C, 0x1000)["length_dw"] == "asks for 7 bytes, from the first to the last enabled"
    assert meaning(0x00040001, 0x0100000F, 0x1000)["attr"] == "ID-based ordering"
    assert meaning(0x00000801, 0x0100000F, 0x1000)["at"] == "translated"
    assert meaning(0x00000001, 0x0100000F, 0x1000, prefix=0x910ABCDE)["prefix"] == "PASID 0xabcde"
    assert meaning(0x00000001, 0x0100000F, 0x1000, prefix=0x92000000)["prefix"] == "IDE"


def test_byte_counts_of_the_specification() -> None:
    """Rows of the table in section 2.3.1.1: one word, and contiguous enables of several."""
    one = {0b1001: 4, 0b0101: 3, 0b1010: 3, 0b0011: 2, 0b0110: 2, 0b1100: 2, 0b0001: 1, 0b0010: 1, 0b0100: 1, 0b1000: 1, 0b0000: 1}
    assert {first: byte_count(1, first, 0) for first in one} == one
    firsts, lasts = (0b1111, 0b1110, 0b1100, 0b1000), (0b1111, 0b0111, 0b0011, 0b0001)
    for off, first in enumerate(firsts):
        for cut, last in enumerate(lasts):
            assert byte_count(5, first, last) == enabled_bytes(5, first, last) == 20 - off - cut
    assert enabled_bytes(1, 0b0101, 0) == 2
    assert enabled_bytes(2, 0b0101, 0b0001) == 3


def test_json_is_plain() -> None:
    header = decode_header((0x00000001, 0x0100000F, 0x1000, 0), prefix=0x91000001, pattern=1)
    assert isinstance(header, Header)
    assert to_json(header)["prefix"] == "0x91000001"
    assert to_json(header)["pattern"] == "v1"


def test_pattern_v1_needs_the_fourth_word() -> None:
    """Without it nothing is known of the fields there: none is made up."""
    header = decode_header((0x00000001, 0x0100000F, 0x1000), pattern=1)
    assert to_json(header)["pattern"] == "legacy"
    assert not {"segment", "t", "tv"} & set(header.fields)


def test_messages_in_words() -> None:
    vendor = decode_header((0x72000001, 0x0100007F, 0x02001234, 0))
    assert vendor.meaning["message"] == "Vendor_Defined Type 1, Vendor ID 0x1234"
    assert vendor.fields["destination"] == 0x200


def test_one_header_needs_no_numpy() -> None:
    code = "import sys, ptttool.tlp; ptttool.tlp.decode_header((0, 0, 0)); print(any(n in sys.modules for n in ('numpy', 'polars')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
