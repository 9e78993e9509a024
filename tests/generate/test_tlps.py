"""Headers put together, and taken apart again by the slow decoder and by ``ptttool tlp``'s."""

from __future__ import annotations

import pytest

from ptttool.generate import tlps
from ptttool.generate.tlps import Tlp
from ptttool.tlp.header import decode_header
from ptttool.tlp.meaning import enabled_bytes
from tests.reference import hisi_ptt as reference
from tests.support.records import eight


def decoded(tlp: Tlp, *, v1: bool = False) -> reference.Record:
    spare = (tlp.spare2, tlp.spare3) if v1 else (0, 0)
    words = eight(tlp.dw0, tlp.dw1, tlp.dw2 | spare[0], tlp.dw3 | spare[1], prefix=tlp.prefix)
    record = reference.decode(list(words), pattern=int(v1))
    assert record is not None
    return record


@pytest.mark.parametrize("start", range(8))
@pytest.mark.parametrize("size", [*range(1, 20), 4090])
def test_byte_enables_cover_the_bytes(start: int, size: int) -> None:
    words, first, last = tlps.enables(start, size)
    lanes = [first >> i & 1 for i in range(4)] + [1] * 4 * (words - 2) + ([last >> i & 1 for i in range(4)] if words > 1 else [])
    assert [place for place, on in enumerate(lanes) if on] == list(range(start & 3, (start & 3) + size))
    assert enabled_bytes(words, first, last) == size


def test_a_flush_has_no_enables() -> None:
    assert tlps.enables(2, 0) == (1, 0, 0)


@pytest.mark.parametrize(("address", "words"), [(0xFFFF_FFF0, 3), (0x1_0000_0000, 4)])
def test_the_form_follows_the_address(address: int, words: int) -> None:
    tlp = tlps.request(tlps.MWR, 0x0102, 7, address, 16)
    assert decode_header([tlp.dw0, tlp.dw1, tlp.dw2, tlp.dw3][:words]).diagnostics == ()
    record = decoded(tlp)
    assert (record["kind"], record["address"], record["length_dw"], record["tag"]) == ("MWr", address, 4, 7)
    assert tlp.size == 4 * words + 16


@pytest.mark.parametrize("tag", [0, 31, 255, 256, 1023, 1024, 16383])
@pytest.mark.parametrize("address", [0x1000, 0x12_0000_1000])
def test_tags_of_14_bits_need_pattern_v1(tag: int, address: int) -> None:
    asked = tlps.request(tlps.MRD, 0x0100, tag, address, 64)
    answer = tlps.completion(tlps.CPLD, 0x0080, 0x0100, tag, size=64, byte_count=64)
    config = tlps.configuration(tlps.CFGRD0, 0, tag, 0x0100, 0x10)
    for tlp in (asked, answer, config):
        assert decoded(tlp)["tag"] == tag & 0x3FF
        assert decoded(tlp, v1=True)["tag"] == tag
        assert decoded(tlp, v1=True)["segment"] == tlps.SEGMENT
    assert decoded(asked, v1=True)["address"] == address


def test_steering_tags_lie_where_others_would() -> None:
    write = decoded(tlps.request(tlps.MWR, 0x0100, 9, 0x1_0000_0000, 64, steering=(2, 0xAB)))
    assert (write["st"], write["ph"], write["tag"], write["first_be"], write["address"]) == (0xAB, 2, None, 0xF, 0x1_0000_0000)
    prefix = tlps.TPH_PREFIX << 24 | 0x12 << 16
    read = decoded(tlps.request(tlps.MRD, 0x0100, 9, 0x4000, 64, steering=(1, 0xCD), prefix=prefix))
    assert (read["st"], read["ph"], read["tag"], read["first_be"]) == (0x12CD, 1, 9, None)


@pytest.mark.parametrize(
    ("address", "size"), [(0x1000, 512), (0x103F, 1), (0x10FF, 2), (0x1005, 300), (0x1FC0, 64), (0x1000, 4096), (0x10, 0)]
)
def test_the_completions_of_a_read_make_up_the_whole(address: int, size: int) -> None:
    left, at = size or 1, address
    pieces = [decoded(tlp) for tlp in tlps.read_completions(0x80, 0x100, 3, address, size, 256)]
    for number, piece in enumerate(pieces):
        assert piece["byte_count"] == left
        assert size == 0 or piece["lower_address"] == at & 0x7F
        carried = min(left, piece["payload_bytes"] - (piece["lower_address"] & 3))
        left, at = left - carried, at + carried
        assert number == len(pieces) - 1 or at % 256 == 0
    assert left == 0


def test_messages_and_atomics() -> None:
    message = decoded(tlps.message(0x50, tlps.LOCAL, 0x0080, data_words=1))
    assert (message["kind"], message["message"], message["routing"], message["payload_bytes"]) == ("MsgD", 0x50, 4, 4)
    compare = decoded(tlps.request(tlps.CAS, 0x0100, 1, 0x2_0000_0010, 8))
    assert (compare["kind"], compare["length_dw"], compare["address"]) == ("CAS", 4, 0x2_0000_0010)
