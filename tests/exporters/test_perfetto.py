"""Perfetto traces, read back by Perfetto's own trace processor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import ptttool
from ptttool.cli.main import main
from ptttool.errors import MissingPackageError, UsageError
from tests.reference import hisi_ptt as decoded
from tests.reference import matching
from tests.support import captures
from tests.support.perfetto import query
from tests.support.records import eight, packed

pytestmark = pytest.mark.slow

CONFIG = "workloads/w-config-dir3-4dw"
SLICES = """select slice.ts, slice.dur, slice.name,
    extract_arg(arg_set_id, 'debug.request') request, extract_arg(arg_set_id, 'debug.first completion') first,
    extract_arg(arg_set_id, 'debug.last completion') last, extract_arg(arg_set_id, 'debug.tag') tag,
    extract_arg(arg_set_id, 'debug.received bytes') received, extract_arg(arg_set_id, 'debug.requested bytes') requested,
    extract_arg(arg_set_id, 'debug.completions') completions, extract_arg(arg_set_id, 'debug.status') status,
    extract_arg(arg_set_id, 'debug.ending') ending, extract_arg(arg_set_id, 'debug.ticks to first') to_first,
    extract_arg(arg_set_id, 'debug.address') address, track.name track, parent.name parent
    from slice join track on slice.track_id = track.id left join track parent on track.parent_id = parent.id
    where slice.name != 'about this trace' order by request"""
COUNTERS = "select track.name name, ts, value from counter join track on counter.track_id = track.id order by counter.id"
PROBLEMS = "select name, value from stats where value > 0 and severity != 'info'"
ENDINGS = ("complete", "error", "short", "inside", "end")


def exported(path: Path, folder: Path, options: dict[str, Any] | None = None, **given: Any) -> bytes:
    output = folder / "out.pftrace"
    with ptttool.open(path, **(options or {})) as recording:
        recording.export(output, force=True, **given)
    return output.read_bytes()


def read(trace: bytes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    slices, counters, problems = query(trace, SLICES, COUNTERS, PROBLEMS)
    assert problems == []
    return slices, counters


def wanted(path: Path, options: dict[str, Any] | None = None, model: str = "counter") -> list[dict[str, Any]]:
    """What the trace has to hold, by the slow reference."""
    with ptttool.open(path, **(options or {})) as recording:
        rows = recording.to_polars().to_dicts()
    step = 16 if "so" in rows[0] and rows[0]["so"] is not None else 32
    found = matching.match([{**dict.fromkeys(decoded.FIELDS), **row, "size": step} for row in rows], model).transactions
    return [
        {
            "ts": one["at"], "dur": max(one["to_last"], 0), "name": f"{one['kind']} {one['requested']} B", "request": one["request"],
            "first": one["first"] if one["completions"] else None, "last": one["last"] if one["completions"] else None, "tag": one["tag"],
            "received": one["received"], "requested": one["requested"], "completions": one["completions"],
            "status": one["status"] if one["completions"] else None, "ending": ENDINGS[one["ending"]],
            "to_first": one["to_first"] if one["to_first"] >= 0 else None,
            "address": None if one["address"] is None else f"{one['address']:#x}",
            "track": "requests" if one["to_last"] >= 0 else "no known end", "requester": one["requester"],
        }
        for one in found
    ]  # fmt: skip


def made(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Split completions, an error, a tag that is used again, reads that overlap, one without an answer."""
    read, back = 0x00000000, 0x4A000000
    records = [
        eight(read | 32, 0x010001FF, 0x1000, 0, time=100), eight(read | 32, 0x010002FF, 0x2000, 0, time=110),
        eight(back | 16, 0x00000080, 0x01000100, 0, time=150), eight(back | 32, 0x00000080, 0x01000200, 0, time=160),
        eight(back | 16, 0x00000040, 0x01000140, 0, time=190), eight(read | 1, 0x0200030F, 0x3000, 0, time=200),
        eight(0x0A000000, 0x00002004, 0x02000300, 0, time=230), eight(read | 1, 0x0200040F, 0x3000, 0, time=240),
        eight(read | 1, 0x0200040F, 0x4000, 0, time=250), eight(back | 1, 0x00000004, 0x02000400, 0, time=255),
        eight(0x40000008, 0x010000FF, 0x5000, 0, time=300), eight(read | 1, 0x0200050F, 0x6000, 0, time=310),
    ]  # fmt: skip
    (folder / "raw.bin").write_bytes(packed(records))
    return folder / "raw.bin", {"protocol": "hisi-ptt", "parameters": {"input": "8dw"}, "form": "raw"}


def test_slices_are_the_transactions_of_the_reference(tmp_path: Path) -> None:
    names = {}
    for path, options in (made(tmp_path), (captures.path_of(CONFIG, tmp_path), {})):
        expected = wanted(path, options)
        slices, _ = read(exported(path, tmp_path, options, time_model="counter", machine=ptttool.find_machine(demo=True)))
        assert len(expected) > 4
        for found, one in zip(slices, expected, strict=True):
            names[one.pop("requester")] = found.pop("parent")
            assert found == one
    assert {number: names[number] for number in (0x100, 0x200)} == {0x100: "01:00.0 nvme0", 0x200: "02:00.0 ens2"}


def test_counters_of_outstanding_requests_and_bytes(tmp_path: Path) -> None:
    path, options = made(tmp_path)
    _, counters = read(exported(path, tmp_path, options, time_model="counter"))
    ends = [(one["ts"], one["ts"] + one["dur"]) for one in wanted(path, options) if one["track"] == "requests"]
    moments = sorted({moment for pair in ends for moment in pair})
    assert [(one["ts"], one["value"]) for one in counters if one["name"] == "outstanding requests"] == [
        (moment, sum(start <= moment < end for start, end in ends)) for moment in moments
    ]
    total = sum(one["value"] for one in counters if "bytes in" in one["name"])
    with ptttool.open(path, **options) as recording:
        assert total == recording.to_polars(["payload_bytes"])["payload_bytes"].sum() > 0


def test_a_tick_is_a_nanosecond_only_where_it_is_said(tmp_path: Path) -> None:
    path, options = made(tmp_path)
    trace = exported(path, tmp_path, options, time_model="counter", tick_ns=2.5)
    expected = wanted(path, options)
    slices, counters = read(trace)
    ends = [(round(one["ts"] * 2.5), round((one["ts"] + one["dur"]) * 2.5)) for one in expected]
    assert [(one["ts"], one["ts"] + one["dur"]) for one in slices] == ends
    assert not [one for one in counters if "ticks" in one["name"]]
    (tracks,) = query(exported(path, tmp_path, options, time_model="counter"), "select name from track where name like '%ticks%'")
    assert tracks


def test_timestamps_stop_at_the_largest(tmp_path: Path) -> None:
    path, options = made(tmp_path)
    late = packed([eight(0, 0x010001FF, 0x1000, 0, time=0xFFFF_FFFF)]) * 2400
    path.write_bytes(late + path.read_bytes())
    slices, _ = read(exported(path, tmp_path, options, time_model="delta", tick_ns=1e6))
    assert max(one["ts"] + one["dur"] for one in slices) == (1 << 63) - 1


def test_conditions_and_ranges_select_by_request(tmp_path: Path) -> None:
    path = captures.path_of(CONFIG, tmp_path)
    every = [one["request"] for one in wanted(path)]
    for given, expected in (
        ({"limit": 3}, every[:3]),
        ({"limit": 2, "offset": 5}, every[5:7]),
        ({"where": "kind = 'CfgWr0'"}, [one["request"] for one in wanted(path) if one["name"].startswith("CfgWr0")]),
        ({"where": "address >= 0", "limit": 2}, [one["request"] for one in wanted(path) if one["address"] is not None][:2]),
    ):
        slices, _ = read(exported(path, tmp_path, time_model="counter", **given))
        assert [one["request"] for one in slices] == expected


@pytest.mark.parametrize("records", [64, 1000])
def test_any_cutting_gives_the_same_trace(records: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = captures.path_of(CONFIG, tmp_path)
    whole = exported(path, tmp_path, time_model="counter", limit=50)
    assert exported(path, tmp_path, time_model="counter", limit=50, jobs=2) == whole
    monkeypatch.setattr("ptttool.pipeline.exporting.transactions._RECORDS", records)
    assert exported(path, tmp_path, time_model="counter", limit=50) == whole


def test_what_is_left_out_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = captures.path_of(CONFIG, tmp_path)
    monkeypatch.setattr("ptttool.pipeline.exporting.transactions.MAX_SLICES", 7)
    output = tmp_path / "few.pftrace"
    assert main(["decode", str(path), "-o", str(output), "--time-model", "counter"]) == 0
    left = len(wanted(path)) - 7
    assert str(left) in capsys.readouterr().err
    slices, facts = query(
        output.read_bytes(),
        SLICES,
        "select extract_arg(arg_set_id, 'debug.left out') left_out from slice where name = 'about this trace'",
    )
    assert (len(slices), facts) == (7, [{"left_out": left}])


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = captures.path_of(CONFIG, tmp_path)
    for given, code in (
        ({"time_model": "unknown"}, "no-time-model"),
        ({"time_model": "counter", "columns": ["index"]}, "columns-fixed"),
    ):
        with pytest.raises(UsageError) as caught:
            exported(path, tmp_path, **given)
        assert caught.value.code == code
    assert main(["decode", str(path), str(path), "--to", "perfetto", "-o", str(tmp_path / "two")]) == 2
    monkeypatch.setitem(sys.modules, "perfetto.protos.perfetto.trace", None)
    with pytest.raises(MissingPackageError):
        exported(path, tmp_path, time_model="counter")
    assert not (tmp_path / "out.pftrace").exists()
