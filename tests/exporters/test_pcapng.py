"""Capture files: blocks as the format says, packets as the records are, time only where it is known."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.cli.main import main
from ptttool.errors import UsageError
from ptttool.exporters.packets.records import BREAK, NO_CHECK_WORD, POISONED, UNKNOWN_CODE, Flag
from ptttool.exporters.pcapng import Pcapng
from tests.reference import hisi_ptt as reference
from tests.reference.pcapng import Block, Capture, read
from tests.support import captures
from tests.support.records import eight, packed, records_4dw, records_8dw

PSEUDO = struct.Struct(">4sBBBBIIQQiIQII")
DELTA = "6.12/s-8dw-delta-time"


def pseudo(packet: Block) -> dict[str, Any]:
    names = (
        "magic",
        "size",
        "layout",
        "direction",
        "zero",
        "flags",
        "absent",
        "index",
        "offset",
        "cpu",
        "time",
        "ticks",
        "prefix",
        "spare",
    )
    found = dict(zip(names, PSEUDO.unpack_from(packet.data), strict=True))
    assert (found["magic"], found["size"], found["zero"], PSEUDO.size) == (b"PTT\x01", 56, 0, 56)
    return found


def exported(path: Path, folder: Path, options: dict[str, Any] | None = None, **given: Any) -> Capture:
    capture = folder / "out.pcapng"
    with ptttool.open(path, **(options or {})) as recording:
        recording.export(capture, force=True, **given)
    return read(capture.read_bytes())


def raw(layout: str, pattern: str = "legacy") -> dict[str, Any]:
    return {"protocol": "hisi-ptt", "parameters": {"input": layout, "pattern": pattern}, "form": "raw"}


def standard(words: tuple[int, ...]) -> tuple[int, ...]:
    """The header of a record as on the link, and what is not recorded of it is 0."""
    if len(words) == 8:
        return words[2:6]
    dw0 = words[0]
    header = (dw0 >> 30 & 3) << 29 | (dw0 >> 25 & 31) << 24 | (dw0 >> 24 & 1) << 23 | (dw0 >> 23 & 1) << 19
    return header | (dw0 >> 22 & 1) << 16 | (dw0 >> 11 & 0x3FF), *words[1:]


@pytest.mark.parametrize("layout", ["4dw", "8dw"])
@given(data=st.data())
def test_packets_are_the_records(layout: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("packets")
    # Of more records of 8DW, times may happen to look like a counter or like differences: then packets have ticks.
    rows = st.lists(records_8dw(), min_size=1, max_size=8) if layout == "8dw" else st.lists(records_4dw(), min_size=1, max_size=30)
    records = data.draw(rows)
    (folder / "raw.bin").write_bytes(packed(records))
    found = exported(folder / "raw.bin", folder, raw(layout))
    kept = [(at, record) for at, record in enumerate(records) if any(record)]
    assert len(found.packets) == len(kept)
    for number, (packet, (at, words)) in enumerate(zip(found.packets, kept, strict=True)):
        known = reference.decode(list(words))
        assert known is not None
        head, header = pseudo(packet), standard(words)
        is_short = known["kind"] != "Unknown" and not header[0] >> 29 & 1
        assert packet.data[56:] == struct.pack(">4I", *header)[: 12 if is_short else 16]
        assert packet.fields[4] - packet.fields[3] == (known["payload_bytes"] or 0)
        assert (head["index"], head["offset"], head["layout"]) == (number, at * 4 * len(words), len(words) == 8)
        assert head["spare"] == (header[3] if is_short else 0)
        assert head["absent"] == (0 if layout == "8dw" else 0x8076FC00)
        assert bool(head["flags"] & Flag.VALID) == (known["time"] is not None)
        assert head["time"] == (known["time"] or 0)
        assert head["prefix"] == (known["prefix"] or 0)
        assert not head["flags"] & (Flag.TICKS | Flag.CPU)


def test_4dw_records_say_which_bits_are_not_recorded() -> None:
    """Fmt bit 2, TC, Attr, LN, TD, EP, AT: whatever they are, the record is the same."""
    kept = sum(1 << bit for bit in (30, 29, *range(24, 29), 23, 19, 16, *range(10)))
    assert 0x8076FC00 ^ kept == 0xFFFFFFFF


def test_odd_records_have_comments(tmp_path: Path) -> None:
    good, status = eight(0x4A000001, 0x00000004, 0x01000000, 0), eight(0x0A000000, 0x00002004, 0x01000000, 0)
    records = [good, status, eight(0x4A004001, 4, 0x01000000, 0), eight(0x7F000000, 0, 0, 0), eight(1, 2, 3, 4, check=5), good]
    (tmp_path / "raw.bin").write_bytes(packed(records))
    found = exported(tmp_path / "raw.bin", tmp_path, raw("8dw"))
    comments = [packet.comments for packet in found.packets]
    assert [len(each) for each in comments[:5]] == [0, 1, 1, 1, 1]
    assert comments[1][0].endswith("UR")
    assert comments[2:5] == [[POISONED], [UNKNOWN_CODE], [NO_CHECK_WORD]]
    with ptttool.open(tmp_path / "raw.bin", **raw("8dw")) as recording:
        for _ in recording.batches():
            pass
        odd = [diagnostic.message for diagnostic in recording.diagnostics]
    assert odd
    assert set(odd) <= set(comments[5])
    assert found.statistics[0].comments == comments[5]
    limited = exported(tmp_path / "raw.bin", tmp_path, raw("8dw"), limit=1)
    assert [packet.comments for packet in limited.packets] == [[]]


@pytest.mark.parametrize("name", ["6.12/s-8dw-ports-dir3", "6.12/s-4dw-ports-dir1", DELTA])
@pytest.mark.parametrize("model", ["counter", "delta"])
def test_ticks_add_up_over_all_records(name: str, model: str, tmp_path: Path) -> None:
    path = captures.path_of(name, tmp_path)
    with ptttool.open(path) as recording:
        rows = recording.to_polars(["time", "offset", "cpu", "layout", "kind"]).to_dicts()
    now, ticks, breaks = 0, [], []
    for before, row in zip([None, *rows], rows, strict=False):
        size, modulus = (32, 1 << 32) if row["layout"] == "8dw" else (16, 1 << 11)
        follows = before is not None and (row["cpu"], row["offset"]) == (before["cpu"], before["offset"] + size)
        step = 0
        if before is not None and follows:
            step = row["time"] if model == "delta" else (row["time"] - before["time"]) % modulus
        is_back = model == "counter" and size == 32 and step >= 1 << 31
        now += 0 if is_back else step
        ticks.append(now)
        breaks.append(before is not None and (not follows or is_back))
    whole = exported(path, tmp_path, time_model=model)
    heads = [pseudo(packet) for packet in whole.packets]
    assert [head["ticks"] for head in heads] == ticks
    assert all(head["flags"] & Flag.TICKS for head in heads)
    assert [bool(head["flags"] & Flag.BREAK) for head in heads] == breaks
    assert [packet.fields[1] << 32 | packet.fields[2] for packet in whole.packets] == ticks
    assert all(
        (BREAK in packet.comments) == is_break for packet, is_break in zip(whole.packets, breaks, strict=True) if len(packet.comments) < 2
    )
    some = exported(path, tmp_path, time_model=model, where="kind = 'MRd'", offset=3)
    chosen = [at for at, row in enumerate(rows) if row["kind"] == "MRd"][3:]
    assert [pseudo(packet)["ticks"] for packet in some.packets] == [ticks[at] for at in chosen]


@pytest.mark.parametrize(("tick_ns", "resolution", "scale"), [(None, 9, 1), (4.0, 9, 4), (0.8, 12, 800)])
def test_a_tick_is_a_nanosecond_only_where_it_is_said(tick_ns: float | None, resolution: int, scale: int, tmp_path: Path) -> None:
    found = exported(captures.path_of(DELTA, tmp_path), tmp_path, time_model="delta", tick_ns=tick_ns)
    (interface,) = found.interfaces
    assert interface.option(9) == bytes([resolution])
    for packet in found.packets:
        assert packet.fields[1] << 32 | packet.fields[2] == pseudo(packet)["ticks"] * scale


def test_timestamps_stop_at_the_largest_and_do_not_start_again(tmp_path: Path) -> None:
    path = tmp_path / "raw.bin"
    path.write_bytes(packed([eight(0x00000020, 0x010001FF, 0x1000, 0, time=0xFFFF_FFFF)]) * 2400)
    found = exported(path, tmp_path, raw("8dw"), time_model="delta", tick_ns=1e6)
    times = [packet.fields[1] << 32 | packet.fields[2] for packet in found.packets]
    assert times == sorted(times)
    assert 0 <= (1 << 63) - 1 - times[-1] < 1_000_000
    assert times[-100] == times[-1]
    assert pseudo(found.packets[-1])["ticks"] == 2399 * 0xFFFF_FFFF


def test_where_time_is_not_known_there_is_none(tmp_path: Path) -> None:
    found = exported(captures.path_of(DELTA, tmp_path), tmp_path, time_model="unknown")
    assert {packet.fields[1:3] for packet in found.packets} == {(0, 0)}
    assert not any(pseudo(packet)["flags"] & Flag.TICKS for packet in found.packets)


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_any_cutting_gives_the_same_file(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = captures.path_of("workloads/w-randread-4dw", tmp_path)
    given: dict[str, Any] = {"time_model": "counter", "where": "index < 3000"}
    whole = tmp_path / "whole.pcapng"
    with ptttool.open(path) as recording:
        recording.export(whole, **given)
        monkeypatch.setattr(Pcapng, "rows", rows)
        monkeypatch.setattr("ptttool.pipeline.exporting.timed._RECORDS", max(rows, 500))
        recording.export(tmp_path / "cut.pcapng", **given)
        recording.export(tmp_path / "jobs.pcapng", jobs=2, **given)
    assert (tmp_path / "cut.pcapng").read_bytes() == whole.read_bytes()
    assert (tmp_path / "jobs.pcapng").read_bytes() == whole.read_bytes()


def test_directions_names_counts_and_facts(tmp_path: Path) -> None:
    path = captures.path_of("6.12/s-8dw-ports-dir3", tmp_path)
    machine = ptttool.find_machine(demo=True)
    found = exported(path, tmp_path, machine=machine)
    with ptttool.open(path) as recording:
        directions = recording.to_polars(["direction"])["direction"].to_list()
        facts = recording.facts
    codes = {"unknown": 0, "inbound": 1, "outbound": 2}
    assert [pseudo(packet)["direction"] for packet in found.packets] == [codes[each] for each in directions]
    flags = [packet.option(2) for packet in found.packets]
    assert [int.from_bytes(each or b"", "little") for each in flags] == [codes[each] for each in directions]
    (interface,) = found.interfaces
    assert interface.fields[0] == 147
    assert interface.option(2) == b"hisi_ptt0_0"
    assert b"01:00.0=nvme0" in (interface.option(3) or b"")
    assert found.statistics[0].option(4) == struct.pack("<Q", len(found.packets))
    assert all(value in found.section.comments[0] for value in facts.values())


def test_several_recordings_are_interfaces(tmp_path: Path) -> None:
    first, second = (captures.path_of(name, tmp_path) for name in ("6.12/x-switch-port14", "6.12/s-8dw-ports-dir3"))
    output = tmp_path / "both.pcapng"
    assert main(["decode", str(first), str(second), "-o", str(output), "--time-model", "counter"]) == 0
    found = read(output.read_bytes())
    assert len(found.interfaces) == 2
    numbers = np.array([packet.fields[0] for packet in found.packets])
    counts = [int.from_bytes(each.option(4) or b"", "little") for each in found.statistics]
    assert np.bincount(numbers).tolist() == counts
    assert (np.diff(numbers) >= 0).all()
    starts = [next(pseudo(packet) for packet in found.packets if packet.fields[0] == number) for number in (0, 1)]
    assert [(head["ticks"], head["index"], head["flags"] & Flag.BREAK) for head in starts] == [(0, 0, 0)] * 2


def test_an_empty_recording_is_a_capture_without_packets(tmp_path: Path) -> None:
    found = exported(captures.path_of("6.12/x-idle", tmp_path), tmp_path)
    assert (found.packets, found.statistics) == ([], [])


def test_columns_cannot_be_chosen_and_time_is_for_formats_with_time(tmp_path: Path) -> None:
    path = captures.path_of("6.12/x-switch-port14", tmp_path)
    with ptttool.open(path) as recording:
        for options, code in (({"columns": ["index"], "to": "pcapng"}, "columns-fixed"), ({"to": "csv", "tick_ns": 4.0}, "no-time")):
            with pytest.raises(UsageError) as caught:
                recording.export(tmp_path / "out", **options)
            assert caught.value.code == code
    assert not (tmp_path / "out").exists()
