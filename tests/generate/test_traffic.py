"""What goes over the simulated links is what PCIe allows: held against rules written down here, over the slow decoder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from ptttool.capture.event.terms import DIRECTIONS
from ptttool.generate.profiles import PROFILES
from ptttool.generate.records import Records
from ptttool.tlp.columns import KINDS
from ptttool.tlp.header import decode_header
from tests.reference import hisi_ptt as reference

pytestmark = pytest.mark.slow

by_profile = pytest.mark.parametrize("name", PROFILES.names())
# What completes what: kinds of completions by the kind of request, the error's too.
COMPLETED_BY = {
    "MRdLk": frozenset(("CplDLk", "CplLk")),
    **dict.fromkeys(("MRd", "IORd", "CfgRd0", "CfgRd1", "FetchAdd", "Swap", "CAS"), frozenset(("CplD", "Cpl"))),
    **dict.fromkeys(("IOWr", "CfgWr0", "CfgWr1", "DMWr", "TCfgRd"), frozenset(("Cpl",))),
}
BOUNDARY = 64


def records(name: str, count: int, *, eight_dw: bool = True, pattern: int = 0, seed: int = 0) -> Iterator[reference.Record]:
    """The first records of a profile, decoded slowly."""
    made = Records(PROFILES.get(name), eight_dw=eight_dw, pattern=pattern, seed=seed)
    data = b"".join(bytes(piece) for piece in made.pieces(count))
    return (record for _, record in reference.decode_bytes(data, eight_dw=eight_dw, pattern=pattern))


def bytes_asked(request: reference.Record) -> int:
    """How many bytes the completions of a request count (section 2.3.1.1)."""
    kind, length, first, last = (request[key] for key in ("kind", "length_dw", "first_be", "last_be"))
    if kind in ("FetchAdd", "Swap"):
        return int(4 * length)
    if kind == "CAS":
        return int(2 * length)
    if kind not in ("MRd", "MRdLk"):
        return 4
    if first is None:  # a Steering Tag is in the place of the enables: all are on
        return int(4 * length)
    lanes = [
        4 * word + lane for word, bits in ((0, first), (length - 1, last if length > 1 else 0)) for lane in range(4) if bits >> lane & 1
    ]
    return max(lanes) - min(lanes) + 1 if lanes else 1


def first_byte(request: reference.Record) -> int:
    """Lower Address of a request's first completion."""
    if request["kind"] not in ("MRd", "MRdLk"):
        return 0
    first = request["first_be"]
    lane = 0 if not first else (first & -first).bit_length() - 1
    return int(request["address"] + lane & 0x7F)


class Matcher:
    """Requests that are open, by Requester ID and tag; AssertionError for what cannot follow."""

    def __init__(self) -> None:
        self.open: dict[tuple[int, int], list[reference.Record]] = {}
        self.matched = 0

    def take(self, record: reference.Record) -> None:
        key = (record["requester"], record["tag"])
        if record["class"] == "NP":
            assert key not in self.open, f"tag in use: {record}"
            self.open[key] = [record, {"left": bytes_asked(record), "at": first_byte(record)}]
        elif record["class"] == "CPL":
            assert key in self.open, f"nobody asked: {record}"
            self.complete(key, record)

    def complete(self, key: tuple[int, int], record: reference.Record) -> None:
        request, state = self.open[key]
        assert record["kind"] in COMPLETED_BY[request["kind"]], (request, record)
        assert (record["attr"], record["tc"]) == (request["attr"], request["tc"])
        if record["status"] != "SC":
            assert not record["payload_bytes"]
            del self.open[key]
            return
        assert bool(record["payload_bytes"]) != ("Wr" in request["kind"])
        assert (record["byte_count"], record["lower_address"]) == (state["left"], state["at"]), (request, record)
        carried = state["left"]
        if record["payload_bytes"]:
            carried = min(state["left"], record["payload_bytes"] - (record["lower_address"] & 3))
        state["left"] -= carried
        state["at"] = (state["at"] + carried) & 0x7F
        assert state["left"] == 0 or state["at"] % BOUNDARY == 0
        if not state["left"]:
            del self.open[key]
            self.matched += 1


@by_profile
def test_requests_and_completions_belong_together(name: str) -> None:
    """A whole block and the beginning of its first copy; between the two the link is idle."""
    block = Records(PROFILES.get(name), eight_dw=True).block
    matcher, before = Matcher(), -1
    for number, record in enumerate(records(name, block + 4000)):
        assert record["time"] >= before
        before = record["time"]
        if number == block:
            assert not matcher.open
        matcher.take(record)
    assert matcher.matched > 2000


@by_profile
def test_so_they_do_with_tags_of_pattern_v1(name: str) -> None:
    matcher, tags = Matcher(), set()
    for record in records(name, 6000, pattern=1):
        matcher.take(record)
        tags.add(record["tag"])
    assert matcher.matched > 100
    assert (max(tag for tag in tags if tag is not None) > 1023) == (name in ("gpu", "mixed"))


@by_profile
def test_headers_are_well_formed(name: str) -> None:
    """``ptttool tlp`` finds nothing odd in what it knows."""
    seen: Counter[str] = Counter()
    for record in records(name, 5000):
        words = [record[f"dw{i}"] for i in range(4)]
        header = decode_header(words, prefix=record["prefix"])
        if record["kind"] != "Unknown":
            assert header.diagnostics == (), header
        seen[record["kind"]] += 1
    assert seen["MRd"] > 100
    assert name != "mixed" or set(seen) == set(KINDS)


@by_profile
@pytest.mark.parametrize("pattern", [0, 1])
def test_both_formats_tell_the_same(name: str, pattern: int) -> None:
    """But for what 4DW leaves out, and for what its Time is too short."""
    lost = {"tc", "attr", "at", "td", "ep", "ln", "prefix", "so", "dw0"}
    count = 1500
    for wide, narrow in zip(records(name, count, pattern=pattern), records(name, count, eight_dw=False, pattern=pattern), strict=True):
        if wide["prefix"] is not None and wide["prefix"] >> 24 == 0x90:  # the upper half of a Steering Tag is there
            wide["st"] &= 0xFF
            narrow["st"] &= 0xFF
        assert narrow["time"] == wide["time"] & 0x7FF
        assert {key: narrow[key] for key in narrow if key not in lost | {"time"}} == {
            key: wide[key] for key in wide if key not in lost | {"time"}
        }


@by_profile
def test_copies_of_a_block_differ_where_they_may(name: str) -> None:
    made = Records(PROFILES.get(name), eight_dw=True)
    blocks = made.blocks()
    first, second, third = (next(blocks).copy() for _ in range(3))
    assert (first[:, 2] == second[:, 2]).all()
    assert (second[:, 7] - first[:, 7] == third[:, 7] - second[:, 7]).all()
    rows = {row.tobytes() for row in np.concatenate((first, second, third))[:, 2:6]}
    kinds = first[:, 2] >> 24
    data = np.isin(kinds, (0x20, 0x60))
    assert (first[data, 3:6] != second[data, 3:6]).any(axis=1).mean() > 0.5
    assert len(rows) > 1.5 * len(first)


@by_profile
def test_equal_seeds_give_equal_records(name: str) -> None:
    first, again, other = (
        b"".join(map(bytes, Records(PROFILES.get(name), eight_dw=False, seed=seed).pieces(70_000))) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize(("format", "number"), [("4dw", 0), ("4dw", 1), ("4dw", 2), ("4dw", 3), ("8dw", 1), ("8dw", 2), ("8dw", 3)])
def test_a_direction_holds_what_the_device_traces(format: str, number: int) -> None:
    """Of the host's requests and of completions to devices it is known which way they go."""
    flow = DIRECTIONS[format][number]
    made = Records(PROFILES.get("gpu"), eight_dw=format == "8dw", flow=flow)
    data = b"".join(bytes(piece) for piece in made.pieces(5000))
    seen = {
        ("inbound" if (record["requester"] == 0) == (record["class"] == "CPL") else "outbound", record["class"])
        for _, record in reference.decode_bytes(data, eight_dw=format == "8dw")
    }
    expected = {("inbound", "CPL" if group == "CPL A" else group) for group in flow.inbound if group != "CPL B"}
    assert seen == expected | {("outbound", group) for group in flow.outbound}


@by_profile
def test_times_are_those_of_the_records(name: str) -> None:
    made = Records(PROFILES.get(name), eight_dw=True)
    times = [record["time"] for record in records(name, made.block + 100)]
    for number in (0, 1, made.block - 1, made.block, made.block + 99):
        assert made.time_at(number) == times[number] * 4


def test_an_unknown_profile_is_told_with_those_that_there_are() -> None:
    from ptttool.errors import UsageError

    with pytest.raises(UsageError) as caught:
        PROFILES.get("floppy")
    assert caught.value.hint == "known: bnxt, drive, gpu, hns3, mixed, mlx5, network, nvme, virtio"
