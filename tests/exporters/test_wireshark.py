"""What the real tshark shows with ptttool's dissector: every field as ptttool itself decodes it."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ptttool
from ptttool.exporters.packets.blocks import ENHANCED_PACKET, block, interface, section_header
from ptttool.exporters.packets.records import Flag
from ptttool.pci import format_id
from ptttool.table.schema import DType, Style
from ptttool.tlp.columns import SPARSE, TLP_SCHEMA
from tests.exporters.test_pcapng import pseudo
from tests.reference.pcapng import read as read_capture
from tests.support import captures
from tests.support.records import eight, packed, records_4dw, records_8dw
from tests.support.tshark import fields

pytestmark = pytest.mark.slow

NAMES = [name for name in captures.shapes() if "x86" not in name]
# Of a large capture, as many TLPs at its start and spread over the rest.
ENOUGH = 4000


# All columns but those that other ones tell, too.
FIELDS = tuple(column.name for column in TLP_SCHEMA if column not in SPARSE)


def own(path: Path, **options: Any) -> list[dict[str, Any]]:
    """The rows as ptttool decodes them."""
    with ptttool.open(path, **options) as recording:
        return recording.to_polars(list(FIELDS)).to_dicts()


def read(name: str, text: str) -> Any:
    """A field's text as the value of the column."""
    column = TLP_SCHEMA[name]
    if text == "":
        return None
    return text if column.dtype is DType.ENUM or column.style is Style.ID else int(text, 0)


def shown(home: Path, capture: Path) -> list[dict[str, Any]]:
    rows = fields(home, capture, [f"pcie.tlp.{name}" for name in FIELDS])
    return [{name: read(name, text) for name, text in zip(FIELDS, row, strict=True)} for row in rows]


def same(expected: list[dict[str, Any]], found: list[dict[str, Any]]) -> None:
    ids = [column.name for column in TLP_SCHEMA if column.name in FIELDS and column.style is Style.ID]
    for row in expected:
        row.update({name: None if row[name] is None else format_id(row[name]) for name in ids})
    assert len(found) == len(expected)
    for row, other in zip(expected, found, strict=True):
        assert other == row


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_every_capture(name: str, tmp_path: Path) -> None:
    path = captures.path_of(name, tmp_path)
    capture = tmp_path / "out.pcapng"
    rows = own(path)
    step = max(1, len(rows) // ENOUGH)
    with ptttool.open(path) as recording:
        recording.export(capture, where=f"index < {ENOUGH} OR index % {step} = 0")
    same([row for row in rows if row["index"] < ENOUGH or row["index"] % step == 0], shown(tmp_path / "home", capture))


Match = dict[int, tuple[int, int]]


def matched(rows: list[dict[str, Any]], heads: list[dict[str, Any]]) -> Match:
    """By number of the packet of each completion: that of its request, and the ticks between them, packet by packet."""
    found: Match = {}
    waiting: dict[tuple[Any, ...], tuple[int, int]] = {}
    epoch = 0
    for number, (row, head) in enumerate(zip(rows, heads, strict=True)):
        epoch += bool(head["flags"] & Flag.BREAK)
        key = (epoch, row["segment"], row["requester"], row["tag"])
        if row["class"] == "NP":
            waiting[key] = number, 4 if row["kind"].startswith(("Cfg", "IO", "TCfg")) else 4 * row["length_dw"]
        elif row["class"] == "CPL" and key in waiting:
            request, left = waiting.pop(key)
            brings = row["kind"] == "CplD" and row["status"] == "SC"
            if brings and row["byte_count"] > left:
                continue
            found[number] = request, head["ticks"] - heads[request]["ticks"]
            piece = 4 * row["length_dw"] - row["lower_address"] % 4
            if brings and row["byte_count"] > piece:
                waiting[key] = request, left - piece
    return found


def traffic(path: Path) -> dict[str, Any]:
    """Write 8DW records with few requesters and tags: reuse, split completions, errors, orphans, time that goes back."""
    draw = Random(3)
    records, time = [], 1 << 31
    for _ in range(2000):
        time += draw.choice([1, 5, 900]) if draw.random() < 0.99 else -1000
        requester, tag, length = draw.choice([0x100, 0x200]), draw.randrange(6), draw.choice([1, 8, 16])
        if draw.random() < 0.4:
            records.append(eight(length, requester << 16 | tag << 8 | 0xFF, 0x1000, 0, time=time))
        else:
            code, status = draw.choice([(0x4A, 0), (0x4A, 0), (0x4A, 0), (0x0A, 1), (0x0A, 0), (0x4A, 4)])
            count, lower = draw.choice([4, 31, 64, 100]), draw.choice([0, 2, 64])
            records.append(eight(code << 24 | length, status << 13 | count, requester << 16 | tag << 8 | lower, 0, time=time))
    path.write_bytes(packed(records))
    return {"protocol": "hisi-ptt", "parameters": {"input": "8dw"}, "form": "raw"}


@pytest.mark.parametrize("name", ["workloads/w-config-dir3-4dw", None])
def test_requests_and_completions_are_linked_both_ways(name: str | None, tmp_path: Path) -> None:
    capture, path = tmp_path / "out.pcapng", tmp_path / "raw.bin"
    options = traffic(path) if name is None else {}
    with ptttool.open(path if name is None else captures.path_of(name, tmp_path), **options) as recording:
        recording.export(capture, limit=ENOUGH, time_model="counter")
        rows = recording.to_polars(limit=ENOUGH).to_dicts()
    expected = matched(rows, [pseudo(packet) for packet in read_capture(capture.read_bytes()).packets])
    assert expected
    names = ["pcie.tlp.request_in", "pcie.tlp.completion_time", "pcie.tlp.completion_in"]
    found = fields(tmp_path / "home", capture, names, "-2")
    requests = {number: (int(row[0]) - 1, int(row[1])) for number, row in enumerate(found) if row[0]}
    assert requests == expected
    back: dict[int, list[int]] = {}
    for completion, (request, _) in expected.items():
        back.setdefault(request, []).append(completion)
    assert {number: [int(each) - 1 for each in row[2].split(",")] for number, row in enumerate(found) if row[2]} == back


def test_names_and_expert_information(tmp_path: Path) -> None:
    capture = tmp_path / "out.pcapng"
    records = [eight(1, 0x0100000F, 0x1000, 0), eight(0x0A000000, 0x00002004, 0x01000000, 0), eight(1, 2, 3, 4, check=5)]
    records += [eight(0x40004001, 0x0200000F, 0x1000, 0), eight(0x7F000000, 0, 0, 0)]
    (tmp_path / "raw.bin").write_bytes(packed(records))
    with ptttool.open(tmp_path / "raw.bin", "hisi-ptt", parameters={"input": "8dw"}, form="raw") as recording:
        recording.export(capture, machine=ptttool.find_machine(demo=True))
    found = fields(tmp_path / "home", capture, ["pcie.tlp.requester_name", "_ws.expert.message"])
    assert [row[0] for row in found] == ["nvme0", "nvme0", "", "ens2", ""]
    expert = ["pcie.tlp.ur", "pcie.tlp.invalid", "pcie.tlp.poisoned", "pcie.tlp.unknown"]
    assert [row.index("1") for row in fields(tmp_path / "home", capture, expert, "-Y", "_ws.expert")] == [0, 1, 2, 3]


def test_other_packets_of_the_link_type_are_left_alone(tmp_path: Path) -> None:
    """Those without the pseudo-header's mark, and those that end within it."""
    capture = tmp_path / "other.pcapng"
    packets = [
        b"another format".ljust(80),
        b"PTT\x02".ljust(80),
        b"PTT\x01" + bytes([56]) + bytes(60),
        b"PTT\x01" + bytes([200]) + bytes(80),
        b"",
    ]
    with capture.open("wb") as file:
        file.write(section_header([]) + interface(147, []))
        for data in packets:
            file.write(block(ENHANCED_PACKET, struct.pack("<IIIII", 0, 0, 0, len(data), len(data)) + data))
    found = fields(tmp_path / "home", capture, ["frame.len", "pcie.tlp.kind"])
    assert found == [[str(len(data)), ""] for data in packets]


@settings(max_examples=5)
@given(data=st.data())
@pytest.mark.parametrize("layout", ["4dw", "8dw"])
@pytest.mark.parametrize("pattern", ["legacy", "v1"])
def test_every_field_of_any_record(layout: str, pattern: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("any")
    records = data.draw(st.lists(records_8dw() if layout == "8dw" else records_4dw(), min_size=1, max_size=60))
    path, capture = folder / "raw.bin", folder / "out.pcapng"
    path.write_bytes(packed(records))
    options: dict[str, Any] = {"protocol": "hisi-ptt", "parameters": {"input": layout, "pattern": pattern}, "form": "raw"}
    with ptttool.open(path, **options) as recording:
        recording.export(capture)
    same(own(path, **options), shown(folder / "home", capture))
