"""Real recordings with the kernel's events beside them: commands, bytes and clock are those of the kernel and of the machine."""

from __future__ import annotations

import json
import lzma
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec import structs

import ptttool
from ptttool.analyses.io.results import IoResult
from ptttool.cli.main import main
from ptttool.errors import InputError, UsageError
from ptttool.pipeline.analyzing.kernel import _sizes_differ
from tests.support import captures

KERNEL = captures.FOLDER / "kernel"
TRUTH: dict[str, Any] = json.loads((KERNEL / "truth.json").read_text(encoding="utf-8"))


def pair(name: str, folder: Path) -> Path:
    """Return a recording with the kernel's side beside it."""
    for end in ("data", "kernel.data"):
        (folder / f"{name}.{end}").write_bytes(lzma.decompress((KERNEL / f"{name}.{end}.xz").read_bytes()))
    return folder / f"{name}.data"


def io(path: Path, **options: Any) -> IoResult:
    with ptttool.open(path) as recording:
        result: IoResult = recording.analyze("io", **options)
        return result


@pytest.mark.parametrize("name", ["mix-4dw", "rr-qd8-4dw"])
def test_every_command_is_joined(name: str, tmp_path: Path) -> None:
    found = io(pair(name, tmp_path))
    side = found.kernel
    assert side is not None and side.joined and side.conflicts == 0
    told = {int(queue): count for queue, count in TRUTH[name]["commands by queue"].items()}
    assert {one.queue: one.commands for one in side.queues} == told
    assert side.commands == side.seen == found.nvme.commands == sum(told.values())
    # The sizes that the kernel asked for are the data that were seen on the link.
    assert (side.bytes_read, side.bytes_written) == (found.nvme.data_bytes.read, found.nvme.data_bytes.write)
    assert side.all is not None and side.all.on_wire is not None and side.all.in_kernel is not None
    assert side.at_least and side.clock is not None and not side.clock.is_possible and side.clock.may_miss_ticks
    assert side.clock.tick_ns_high is not None and side.clock.tick_ns_high >= 4


def test_processes_are_those_of_the_tracepoints(tmp_path: Path) -> None:
    side = io(pair("mix-4dw", tmp_path)).kernel
    assert side is not None
    assert {one.name: one.commands for one in side.by["process"]} == {"fio (404)": 200, "(udev-worker) (405)": 90, "systemd-udevd (200)": 2}
    assert side.by["size"][0].name == "16,384"


def test_each_command_is_a_row(tmp_path: Path) -> None:
    path = pair("mix-4dw", tmp_path)
    with ptttool.open(path) as recording:
        rows = recording.commands()
        fetches = recording.to_polars(["index", "kind"]).filter(pl.col("index").is_in(rows["fetched"].to_list()))
    assert len(rows) == 292 and rows["setup"].is_sorted()
    assert rows["process"].value_counts(sort=True)["count"].to_list() == [200, 90, 2]
    assert fetches["kind"].to_list() == ["MRd"] * 292
    assert (rows["ended"] > rows["fetched"]).all() and (rows["complete"] > rows["setup"]).all()
    assert rows.filter(pl.col("opcode") == 1)["bytes"].sum() == 1_654_784
    (tmp_path / "mix-4dw.kernel.data").unlink()
    with ptttool.open(path) as recording, pytest.raises(InputError) as caught:
        recording.commands()
    assert caught.value.code == "no-kernel-side"


def test_the_true_tick_is_in_the_band(tmp_path: Path) -> None:
    """Only outbound TLPs were traced: doorbells, and the answers to fetches."""
    side = io(pair("rr-qd8-8dw-out", tmp_path)).kernel
    assert side is not None and side.joined and side.commands == 400 and side.conflicts == 0
    told = {int(queue): count for queue, count in TRUTH["rr-qd8-8dw-out"]["commands by queue"].items()}
    assert {one.queue: one.commands for one in side.queues} == told
    band = side.clock
    assert band is not None and band.is_possible and band.tick_ns_low is not None and band.tick_ns_high is not None
    assert 3.99 < band.tick_ns_low < 4 < band.tick_ns_high < 4.01
    assert band.error_ns is not None and band.error_ns < 200_000


def test_other_sizes_than_those_of_the_data_are_said(tmp_path: Path) -> None:
    found = io(pair("mix-4dw", tmp_path))
    assert found.kernel is not None and not list(_sizes_differ(found.kernel, found))
    more = structs.replace(found.kernel, bytes_read=1 << 30)
    assert [note.code for note in _sizes_differ(more, found)] == ["sizes-differ"]


def test_a_known_tick_gives_shares_that_are_no_more_than_all(tmp_path: Path) -> None:
    side = io(pair("rr-qd8-4dw", tmp_path), tick_ns=4).kernel
    assert side is not None and side.all is not None and side.all.share is not None and side.all.on_wire_ns is not None
    assert 0 < side.all.share < 1
    assert side.all.on_wire is not None and side.all.on_wire_ns.p50 == 4 * side.all.on_wire.p50


def test_parts_of_a_recording_find_the_same(tmp_path: Path) -> None:
    path = pair("mix-4dw", tmp_path)
    assert io(path) == io(path, jobs=2)


def test_a_condition_leaves_the_kernel_out(tmp_path: Path) -> None:
    assert io(pair("rr-qd8-4dw", tmp_path), where="kind = 'MWr'").kernel is None


def test_without_a_file_beside_there_is_no_kernel(tmp_path: Path) -> None:
    path = pair("rr-qd8-4dw", tmp_path)
    (tmp_path / "rr-qd8-4dw.kernel.data").unlink()
    assert io(path).kernel is None


def test_a_packed_file_beside_is_found(tmp_path: Path) -> None:
    path = pair("rr-qd8-4dw", tmp_path)
    (tmp_path / "rr-qd8-4dw.kernel.data").unlink()
    shutil.copy(KERNEL / "rr-qd8-4dw.kernel.data.xz", tmp_path)
    side = io(path).kernel
    assert side is not None and side.commands == 400


def test_a_damaged_file_beside_is_a_note(tmp_path: Path) -> None:
    path = pair("rr-qd8-4dw", tmp_path)
    (tmp_path / "rr-qd8-4dw.kernel.data").write_bytes(b"PERFILE2" + bytes(200))
    found = io(path)
    assert found.nvme.commands == 400
    assert found.kernel is not None and not found.kernel.joined and found.kernel.notes


def test_a_file_that_was_cut_is_a_note(tmp_path: Path) -> None:
    path = pair("rr-qd8-4dw", tmp_path)
    beside = tmp_path / "rr-qd8-4dw.kernel.data"
    beside.write_bytes(beside.read_bytes()[:700_000])
    side = io(path).kernel
    assert side is not None and not side.joined and "truncated" in {note.code for note in side.notes}


def test_a_file_that_is_named_and_is_none_is_an_error(tmp_path: Path) -> None:
    path = pair("rr-qd8-4dw", tmp_path)
    with pytest.raises(InputError):
        io(path, kernel=path)
    with pytest.raises(InputError):
        io(path, kernel=tmp_path / "missing")
    with pytest.raises(UsageError) as caught:
        io(path, by="disk")
    assert caught.value.code == "unknown-group"


def test_another_recording_is_not_joined(tmp_path: Path) -> None:
    pair("mix-4dw", tmp_path)
    side = io(pair("rr-qd8-4dw", tmp_path), kernel=tmp_path / "mix-4dw.kernel.data").kernel
    assert side is not None and not side.joined and side.notes


@pytest.mark.parametrize(("by", "shown"), [(None, "fio (404)"), ("queue", "01:00.0, 2"), ("size", "16,384")])
def test_the_command_shows_and_prints_it(by: str | None, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(pair("mix-4dw", tmp_path))
    assert main(["analyze", "io", path, *(() if by is None else ("--by", by))]) == 0
    assert shown in capsys.readouterr().out
    assert main(["analyze", "io", path, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["kernel"]
    assert (document["joined"], document["commands"], document["conflicts"]) == (True, 292, 0)
    assert set(document["by"]) == {"process", "queue", "size"}


@pytest.mark.parametrize(
    "words", [["summary", "FILE", "--by", "queue"], ["io", "FILE", "FILE", "--kernel", "x"], ["io", "FILE", "--json", "--by", "size"]]
)
def test_options_without_effect_are_refused(words: list[str], tmp_path: Path) -> None:
    path = str(pair("rr-qd8-4dw", tmp_path))
    assert main(["analyze", *(path if word == "FILE" else word for word in words)]) == 2
