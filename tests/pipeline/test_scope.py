"""Every recording there is comes out with the right model of time, or with none; of a pipe, what has arrived is looked at."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from ptttool.analyses.time.clock import Clock
from ptttool.analyses.time.model import FINEST, TimeModel
from ptttool.errors import UsageError
from ptttool.generate.profiles import PROFILES
from ptttool.generate.recording import GeneratedRecording, Wanted
from ptttool.pipeline.query import parse_query
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.pipeline.scope import TimeOptions, scope_of
from ptttool.pipeline.workers.pool import ALONE
from tests.support import captures
from tests.support.recordings import build_perfdata, words_8dw

CAPTURES = sorted(
    str(path.relative_to(captures.FOLDER)).removesuffix(".xz").removesuffix(".data")
    for folder in ("6.1", "6.12", "faults", "workloads")
    for path in (captures.FOLDER / folder).glob("*.data*")
    if path.suffix != ".json"
)
# Those that hold no records: nothing was traced, or what there is was lost.
EMPTY = {"6.12/x-cpu2-wrong-node", "6.12/x-idle", "6.12/x-sigkill"}


@pytest.mark.parametrize("name", CAPTURES)
def test_captures(name: str, tmp_path: Path) -> None:
    with OpenRecording(Request(str(captures.path_of(name, tmp_path)))) as recording:
        scope = scope_of(recording, TimeOptions())
    if name in EMPTY:
        assert (scope.time_model, scope.evidence) == (TimeModel.UNKNOWN, None)
        return
    assert scope.time_model is (TimeModel.DELTA if name.endswith("delta-time") else TimeModel.COUNTER)
    assert scope.evidence is not None
    assert (scope.time_bits, scope.time_asked) == (scope.evidence.bits, False)
    assert scope.time_bits == (32 if "8dw" in name or "/x-" in name else 11)


@pytest.mark.parametrize("profile", [profile.name for profile in PROFILES])
@pytest.mark.parametrize("form", ["4dw", "8dw"])
def test_generated_traffic(profile: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    with path.open("wb") as file:
        GeneratedRecording(Wanted(profile, form, 1 << 18)).write(file)
    with OpenRecording(Request(str(path))) as recording:
        assert scope_of(recording, TimeOptions()).time_model is TimeModel.COUNTER


def test_what_the_user_says_comes_first_and_the_evidence_stays(tmp_path: Path) -> None:
    path = captures.path_of("6.12/s-8dw-delta-time", tmp_path)
    with OpenRecording(Request(str(path))) as recording:
        scope = scope_of(recording, TimeOptions("counter", 4))
    assert (scope.time_model, scope.time_asked, scope.tick_ns) == (TimeModel.COUNTER, True, 4)
    assert scope.evidence is not None
    assert scope.evidence.model is TimeModel.DELTA


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"time_model": "clock"}, "bad-time-model"),
        *(({"tick_ns": tick}, "bad-tick") for tick in (0, -1.0, 1e-300, 1e300, float("inf"), float("nan"))),
    ],
)
def test_what_cannot_be(given: dict[str, object], code: str, tmp_path: Path) -> None:
    with OpenRecording(Request(str(captures.path_of("6.12/x-idle", tmp_path)))) as recording, pytest.raises(UsageError) as caught:
        scope_of(recording, TimeOptions(**given))  # type: ignore[arg-type]
    assert caught.value.code == code


@pytest.mark.parametrize("walked", [False, True])
def test_a_pipe_is_looked_at_without_reading_on(walked: bool, tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    content = build_perfdata([(0, 0, words_8dw(9000)), (0, 9000 * 32, words_8dw(9000, time=9000))], mode="pipe")
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()
    with OpenRecording(Request(str(path))) as recording:
        walk = recording.walk(ALONE) if walked else None
        scope = scope_of(recording, TimeOptions())
        assert (scope.time_model, scope.grain) == (TimeModel.COUNTER, FINEST)
        assert scope.evidence is not None
        assert 0 < scope.evidence.records < 18000
        clock = Clock(scope.time_model)
        for batch in (walk or recording.walk(ALONE)).batches(parse_query(recording.schema, columns=("time", "offset", "cpu"))):
            clock.ticks(batch)
    writer.join()
    # The first AUX event ends inside a buffer of the device: what was between it and the next one was not traced, and is no time.
    assert (clock.rows, clock.elapsed) == (18000, 17998)


def test_the_grain_of_time_lines_follows_from_the_size(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(build_perfdata([(0, 0, bytes(32) * (1 << 20))]))
    with OpenRecording(Request(str(path))) as recording:
        assert recording.size == path.stat().st_size
        # 2^13 bytes for each of 2^12 points; half of them, because not all of a file is AUX data.
        assert scope_of(recording, TimeOptions()).grain == 12


def test_the_list_of_captures_is_whole() -> None:
    shapes = json.loads((captures.FOLDER / "shapes.json").read_text(encoding="utf-8"))
    assert {name for name in shapes if name.split("/")[0] in ("6.1", "6.12")} <= set(CAPTURES)
