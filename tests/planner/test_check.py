"""Whether a recording has what it was planned for."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from ptttool.capture import replay
from ptttool.capture.event.terms import Completions, Direction, Format, TlpType
from ptttool.capture.sidecar import load
from ptttool.planner.check import CheckedRun, PlanCheck, check_recordings, not_in_recording
from ptttool.planner.runs import Run, runs_for, wanted_for

BOTH = Run((TlpType.NON_POSTED, TlpType.COMPLETION), Direction.BOTH, Completions.B)


def unpacked(name: str, folder: Path) -> Path:
    path = folder / "x.data"
    path.write_bytes(lzma.decompress((replay.FOLDER / f"{name}.data.xz").read_bytes()))
    return path


def checks(purposes: str, run: Run, name: str, folder: Path) -> list[PlanCheck]:
    path = unpacked(name, folder)
    sidecar = load(path)
    names = purposes.split(",")
    return check_recordings(names, wanted_for(names), [CheckedRun(run, path, None if sidecar is None else sidecar.machine)])


def test_all_is_there(tmp_path: Path) -> None:
    """Of both directions, without topology: what has no known direction can be of either."""
    found = checks("latency", BOTH, "m-4dw-port10-type7-dir2", tmp_path)
    assert [(one.code, one.ok) for one in found] == [("seen", True), ("open-ends", True)]
    assert not_in_recording(found) is None
    assert found[1].details["requests"] == 652


def test_a_type_that_the_device_left_out(tmp_path: Path) -> None:
    """Two types were asked for, and the recording has one: no latency, whatever perf says."""
    found = checks("latency", BOTH, "m-4dw-port10-type2-dir2", tmp_path)
    seen = next(one for one in found if one.code == "seen")
    assert (seen.ok, seen.is_vital) == (False, True)
    assert seen.details["counts"] == {"inbound NP": 643, "outbound CPL": 0}
    error = not_in_recording(found)
    assert error is not None
    assert (error.code, error.exit_code) == ("not-in-recording", 5)


def test_what_is_not_vital_does_not_fail(tmp_path: Path) -> None:
    found = checks("payload", Run((TlpType.POSTED, TlpType.NON_POSTED, TlpType.COMPLETION)), "m-4dw-port10-type1-dir0", tmp_path)
    assert [(one.ok, one.is_vital) for one in found] == [(True, False), (False, False)]
    assert not_in_recording(found) is None


def test_a_loss_is_said(tmp_path: Path) -> None:
    """A recording whose end is cut off: what was asked for is in it, and not all of it."""
    path = unpacked("m-4dw-port10-type7-dir0", tmp_path)
    path.write_bytes(path.read_bytes()[:100000])
    found = check_recordings(["io"], wanted_for(["io"]), [CheckedRun(Run(), path)])
    assert [(one.code, one.ok) for one in found] == [("seen", True), ("seen", True), ("loss", False)]
    assert not_in_recording(found) is None


def test_a_format_alone_is_there_with_any_tlp(tmp_path: Path) -> None:
    run = Run(format=Format.DW8)
    (found,) = checks("attributes", run, "m-8dw-port10-type7-dir2", tmp_path)
    assert (found.ok, found.details["counts"]) == (True, {"TLPs": 5569})


@pytest.mark.parametrize("purpose", ["loss", "summary"])
def test_a_purpose_without_needs_has_no_check(purpose: str, tmp_path: Path) -> None:
    (run,) = runs_for(wanted_for([purpose]))
    assert checks(purpose, run, "m-4dw-port10-type7-dir0", tmp_path) == []
