"""``ptttool trace --until``: windows of the stand-in perf, which differ, and of replays."""

from __future__ import annotations

import json
import lzma
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from ptttool.api.until import record_until
from ptttool.capture.perf.recorder import is_complete
from ptttool.capture.replay import FOLDER
from ptttool.capture.series.manifest import RunState, Series, SeriesRun, Sought, load, save
from ptttool.cli.main import main
from ptttool.errors import UsageError
from tests.cli.test_trace import EIGHT_DW, PORT, SPOILT, Here, Live, error_of, here, live
from tests.reference.hisi_ptt import read_recording
from tests.test_json import problems_of

__all__ = ["here", "live"]  # fixtures
READS, WRITES, NONE = (str(FOLDER / f"m-8dw-port10-type{kind}-dir2.data.xz") for kind in (2, 1, 4))
CONDITION = "kind = 'MRd' and length_dw > 100"


def windows_of(*numbers: int) -> set[str]:
    names = {f"perf.{number}-window.data" for number in numbers}
    return names | {f"{name}.ptttool.json" for name in names} | ({"perf.series.json"} if numbers else set())


def search(here: Here, *windows: str, condition: str = CONDITION, options: tuple[str, ...] = ()) -> tuple[dict[str, Any], int]:
    words = [*EIGHT_DW, "--until", condition, "--window", "20ms", "--json", *options]
    done = here.run(*words, STANDIN_WINDOWS=",".join(windows))
    body = json.loads(done.stdout)
    assert problems_of("trace-until" if "until" in body else "error", body) == []
    return body, done.returncode


def matches(packed: str, folder: Path) -> list[int]:
    """Slowly and literally: the numbers of the TLPs that meet the condition."""
    return [one["index"] for one in read_recording(unpacked(packed, folder)) if one["kind"] == "MRd" and one["length_dw"] > 100]


def unpacked(packed: str, folder: Path) -> Path:
    path = folder.with_name("unpacked.data")
    path.write_bytes(lzma.decompress(Path(packed).read_bytes()))
    return path


# ---- found


@pytest.mark.parametrize(
    ("at", "most", "kept"),
    [(1, None, {"found": 1, "after": 2}), (3, None, {"before": 2, "found": 3, "after": 4}), (2, 2, {"before": 1, "found": 2, "after": 3})],
    ids=["in the first", "in the third", "in the last"],
)
def test_the_window_is_kept_with_those_around_it(here: Here, at: int, most: int | None, kept: dict[str, int]) -> None:
    body, code = search(here, *[WRITES] * (at - 1), READS, options=() if most is None else ("--windows", str(most)))
    found, until = body["until"]["found"], body["until"]
    expected = matches(READS, here.folder)
    assert (code, found) == (0, {"window": at, "index": expected[0], "tlps": len(expected)})
    assert {one["role"]: one["window"] for one in until["kept"]} == kept
    assert here.files() == windows_of(*kept.values())
    assert (until["windows"], until["failed"], until["empty"], until["incomplete"]) == (at, 0, 0, 0)
    series = load(here.folder / "perf.series.json")
    assert [run.name for run in series.runs] == list(kept)
    assert {run.state for run in series.runs} == {RunState.RECORDED}
    assert problems_of("series", json.loads((here.folder / "perf.series.json").read_text(encoding="utf-8"))) == []
    assert series.until == Sought(CONDITION, at, expected[0])
    assert (here.folder / f"perf.{at}-window.data").read_bytes() == lzma.decompress(Path(READS).read_bytes())
    assert f"TLP {expected[0]} of window {at}" in here.run("perf.series.json", command="info").stdout
    read = json.loads(here.run("traffic", "perf.series.json", "--json", command="analyze").stdout)
    assert len(read["recordings"]) == len(kept)


def test_the_share_is_of_one_interval(here: Here) -> None:
    """What was traced of the windows that were looked at, and the time from the begin of the first to the end of the last."""
    until = search(here, WRITES, WRITES, READS)[0]["until"]
    assert until["traced"] >= 3 * 0.02
    assert until["passed"] > until["traced"]
    assert until["share"] == pytest.approx(100 * until["traced"] / until["passed"])


def test_people_see_it(here: Here) -> None:
    done = here.run(*EIGHT_DW, "--until", CONDITION, "--window", "20ms", STANDIN_WINDOWS=f"{WRITES},{READS}")
    assert done.returncode == 0
    assert [line.split(" ")[0] for line in done.stdout.splitlines()] == ["found", "looked", "seen", "kept", "kept", "kept"]


def test_three_windows_at_most_are_there(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    most: list[int] = []
    written = save  # at each step

    def counting(path: Path, series: Series) -> None:
        most.append(len(list(here.folder.glob("*.data"))) + len(list(here.folder.glob("*.part"))))
        written(path, series)

    monkeypatch.setattr("ptttool.capture.series.windows.save", counting)
    body, _ = search(here, *[WRITES] * 6, READS)
    assert body["until"]["windows"] == 7
    assert max(most) <= 3


# ---- not found


def test_never(here: Here) -> None:
    body, code = search(here, WRITES, options=("--windows", "3"))
    until = body["until"]
    assert (code, until["found"], until["kept"], until["series"], until["windows"]) == (1, None, [], None, 3)
    assert until["tlps"] == 3 * len(list(read_recording(unpacked(WRITES, here.folder))))
    assert "error" not in body
    assert here.files() == set()


def test_a_duration_ends_it(here: Here) -> None:
    body, code = search(here, WRITES, options=("--duration", "300ms"))
    assert (code, body["until"]["stopped_by"]) == (1, None)
    assert body["until"]["windows"] >= 1
    assert here.files() == set()


def test_windows_without_a_tlp(here: Here) -> None:
    """If there is none in any, the condition was not looked at: that is another outcome than not found."""
    body, code = search(here, NONE, WRITES, options=("--windows", "2"))
    assert (code, body["until"]["empty"], body["until"]["incomplete"]) == (1, 1, 0)
    body, code = search(here, NONE, options=("--windows", "2"))
    assert (code, body["error"]["code"], body["until"]["empty"], here.files()) == (5, "empty-trace", 2, set())


def test_signs_of_loss_are_counted(here: Here) -> None:
    """What was traced of such a window counts for nothing: something of it is missing."""
    until = search(here, SPOILT.as_posix(), condition="kind = 'CAS'", options=("--windows", "2"))[0]["until"]
    assert (until["incomplete"], until["signs"], until["traced"], until["share"]) == (2, {"spoilt-restarts": 2}, 0, 0)


def test_a_perf_that_does_not_say_when_it_traced(here: Here) -> None:
    done = here.run(*EIGHT_DW, "--until", CONDITION, "--window", "20ms", "--windows", "1", "--json", case="no-control")
    until = json.loads(done.stdout)["until"]
    assert (until["traced"], until["share"]) == (None, None)


# ---- what goes wrong


def test_a_window_that_fails_is_counted(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.api.until._PAUSE", 0.0)
    body, code = search(here, WRITES, "not-supported", "killed", READS)
    until = body["until"]
    assert (code, until["found"]["window"], until["windows"], until["failed"]) == (0, 4, 2, 2)
    assert sum(until["failures"].values()) == 2
    assert {one["role"]: one["window"] for one in until["kept"]} == {"before": 1, "found": 4, "after": 5}
    assert here.files() == windows_of(1, 4, 5)


@pytest.mark.parametrize("windows", [("not-supported",), (WRITES, "disk-full"), (WRITES, "no-words")])
def test_windows_that_always_fail_end_it(here: Here, windows: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.api.until._PAUSE", 0.0)
    body, code = search(here, *windows)
    assert (code, body["error"]["exit_code"]) == (code, code)
    assert code in (5, 6)
    assert here.files() == set()


@pytest.mark.parametrize("case", ["not-supported", "disk-full"])
def test_the_window_after_fails(here: Here, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is recorded before it is looked at all the same, also if the failure ends the search."""
    monkeypatch.setattr("ptttool.api.until._PAUSE", 0.0)
    body, code = search(here, READS, case)
    assert (code, [one["role"] for one in body["until"]["kept"]]) == (0, ["found"])
    assert here.files() == windows_of(1)
    assert [run.state for run in load(here.folder / "perf.series.json").runs] == [RunState.RECORDED, RunState.FAILED]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--until", "stat <> 'SC'"], "unknown-column"),
        (["--until", "status <> "], "bad-where"),
        (["--until", "status = 'XX'"], "unknown-value"),
        (["--until", "status <> 'SC'", "--type", "p,np"], "never-true"),
        (["--until", "ep = 1", "--format", "4dw"], "never-true"),
        (["--until", "ep = 1", "--", "true"], "exclusive-options"),
        (["--until", "ep = 1", "--for", "io"], "exclusive-options"),
        (["--until", "ep = 1", "--with", "nvme"], "exclusive-options"),
        (["--until", "ep = 1", "--fail-on-loss"], "exclusive-options"),
        (["--until", "ep = 1", "--no-decode"], "exclusive-options"),
        (["--until", "kind = 'MWr'", "--direction", "outbound"], "several-events"),
        (["--until", "tag = 1", "--windows", "0"], "too-few-windows"),
        (["--until", "tag = 1", "--window", "0.1ms"], "bad-duration"),
        (["--window", "1s"], "exclusive-options"),
        (["--windows", "1"], "exclusive-options"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_recorded(here: Here, options: list[str], code: str) -> None:
    for dry in ([], ["--dry-run"]):
        if code == "too-few-windows" and dry:
            continue
        done = here.run(*EIGHT_DW, "--json", *dry, *options, case="mute")
        assert (error_of(done)["code"], done.returncode, here.files()) == (code, 2, set())


def test_dry_run(here: Here) -> None:
    words = [*EIGHT_DW, "--until", "status is null and ep = 1", "--type", "p", "--dry-run"]
    done = here.run(*words)
    assert done.stdout.endswith("-o perf.1-window.data -- sleep 0.05\n")
    body = json.loads(here.run(*words, "--json").stdout)
    assert (body["until"], body["duration"], body["command_line"]) == ("status is null and ep = 1", 0.05, done.stdout.strip())
    assert here.files() == set()


# ---- files that are there


def test_another_series_of_that_name(here: Here) -> None:
    """What a search has found is not replaced; with --force it stays, but for what has the same name."""
    search(here, WRITES, READS)
    before = here.files()
    body, code = search(here, READS)
    assert (code, body["error"]["code"], here.files()) == (6, "exists", before)
    assert search(here, WRITES, options=("--force", "--windows", "1"))[1] == 1
    assert load(here.folder / "perf.series.json").until == Sought(CONDITION, 2, matches(READS, here.folder)[0])


def test_a_search_that_was_killed(here: Here) -> None:
    """Its windows may hold what was looked for when the machine went down: they stay until --force."""
    runs = tuple(SeriesRun(f"window-{number}", f"perf.{number}-window.data", "e", RunState.RECORDED) for number in (17, 18))
    mine = here.folder / "mine.data"
    save(here.folder / "perf.series.json", Series(1, (), (*runs, SeriesRun("x", "mine.data", "e")), Sought("ep = 1")))
    for name in (*(run.file for run in runs), "perf.19-window.data.0123456789abcdef.part", "mine.data"):
        (here.folder / name).write_bytes(b"x" * 4096)
    before = here.files()
    assert search(here, READS)[1] == 6
    assert here.files() == before
    assert search(here, READS, options=("--force",))[1] == 0
    assert mine.exists()
    assert here.files() == windows_of(1, 2) | {"mine.data", "perf.19-window.data.0123456789abcdef.part"}


# ---- signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(live: Live, number: signal.Signals) -> None:
    process = live.start(*EIGHT_DW, "--until", "kind = 'CAS'", "--window", "50ms", "--json")
    live.wait_for(live.folder / "perf.4-window.data")
    os.kill(live.processes("trace")[0], number)
    out, err = process.communicate(timeout=120)
    body = json.loads(out)
    assert process.returncode == body["error"]["exit_code"] == 128 + number, err
    assert (body["error"]["code"], body["until"]["stopped_by"]) == ("search-interrupted", number.name)
    assert body["until"]["windows"] >= 3
    assert live.files() == set()


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_a_kill_leaves_nothing_half_done(live: Live, after: float) -> None:
    """What is there is complete or known as unfinished, and three recordings at most; --force begins anew without it."""
    process = live.start(*EIGHT_DW, "--until", "kind = 'CAS'", "--window", "50ms")
    live.wait_for(live.folder / "perf.3-window.data")
    time.sleep(after)
    os.kill(live.processes("trace")[0], signal.SIGKILL)
    process.communicate(timeout=120)
    deadline = time.monotonic() + 60
    while live.processes("record"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    windows = sorted(live.folder.glob("*-window.data"))
    assert len(windows) + len(list(live.folder.glob("*.part"))) <= 3
    assert all(map(is_complete, windows))
    series = load(live.folder / "perf.series.json")
    assert series.until == Sought("kind = 'CAS'")
    assert {path.name for path in windows} <= {run.file for run in series.runs}
    done = live.run(*EIGHT_DW, "--until", "kind = 'CAS'", "--window", "50ms", "--windows", "2", "--force", "--json")
    assert (done.returncode, live.files()) == (1, set()), done.stderr


# ---- replays


def test_a_replay_is_looked_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["trace", "--demo", *EIGHT_DW, "--json", "-o", str(tmp_path / "x.data")]
    assert main([*words, "--until", "kind = 'CAS'"]) == 1
    until = json.loads(capsys.readouterr().out)["until"]
    assert (until["windows"], until["share"], list(tmp_path.iterdir())) == (1, None, [])
    assert main([*words, "--until", CONDITION]) == 0
    until = json.loads(capsys.readouterr().out)["until"]
    assert [(one["role"], one["window"]) for one in until["kept"]] == [("found", 1), ("after", 2)]


def test_python_refuses_a_command(tmp_path: Path) -> None:
    import ptttool

    chosen = ptttool.build_event(ptttool.find_machine(demo=True), root_ports=PORT[1:], format="8dw")
    for command, window, code in ((["true"], 0.05, "command-with-until"), ([], 1e-4, "window-too-short")):
        plan = ptttool.plan_recording(chosen, output=tmp_path / "x.data", command=command)
        with pytest.raises(UsageError) as caught:
            record_until(plan, "ep = 1", window=window)
        assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []
