"""``ptttool trace`` with several runs, one after another, and with a plan: live with the stand-in perf, and replayed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ptttool.capture.perf.recorder import is_complete
from ptttool.capture.series.manifest import RunState, Series, SeriesRun, load, save
from ptttool.cli.main import main
from tests.cli.test_trace import PORT, Here, Live, error_of, here, live

__all__ = ["here", "live"]  # fixtures
OUTBOUND = [*PORT, "--direction", "outbound"]
RUNS = ["outbound-p", "outbound-np", "outbound-cpl"]


def files_of(*numbers: int) -> set[str]:
    names = {f"perf.{number}-{RUNS[number - 1]}.data" for number in numbers}
    return names | {f"{name}.ptttool.json" for name in names} | {"perf.series.json"}


def states(series: Series) -> list[str]:
    return [run.state.value for run in series.runs]


# ---- recording


def test_outbound_is_recorded_one_type_after_another(here: Here) -> None:
    done = here.run(*OUTBOUND, "--json", "--", "true")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert [run["name"] for run in body["runs"]] == RUNS
    assert [one["event"][-34:-1] for one in body["recordings"]] == [f"80001,type={bit},direction=1,format=0" for bit in (1, 2, 4)]
    assert [one["summary"]["records"] for one in body["recordings"]] == [111, 16, 1047]
    assert [one["traced"]["exit"] for one in body["recordings"]] == [0, 0, 0]
    assert "error" not in body
    assert "checks" not in body
    assert here.files() == files_of(1, 2, 3)
    assert states(load(here.folder / "perf.series.json")) == ["recorded"] * 3


def test_the_runs_are_read_together(here: Here) -> None:
    here.run(*OUTBOUND, "--type", "p,cpl", "--no-decode", "--", "true")
    assert here.files() == {name.replace("3-", "2-") for name in files_of(1, 3)}
    done = here.run("traffic", "perf.series.json", "--json", command="analyze")
    body = json.loads(done.stdout)
    assert [one["results"]["traffic"]["total"]["tlps"] for one in body["recordings"]] == [111, 1047]
    one = here.run("perf.series.json", "--json", command="decode")
    assert "ptttool info" in str(error_of(one)["hint"])


def test_people_see_each_run(here: Here) -> None:
    done = here.run(*OUTBOUND, "--duration", "100ms")
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("perf.")] == [
        f"perf.{number}-{name}.data: hisi_ptt0_0/filter=0x80001,type={bit},direction=1,format=0/"
        for number, (name, bit) in enumerate(zip(RUNS, (1, 2, 4), strict=True), 1)
    ]
    assert done.stderr.count("perf.series.json") == 2


def test_an_end_is_needed(here: Here) -> None:
    done = here.run(*OUTBOUND, "--json")
    assert (json.loads(done.stdout)["error"]["code"], done.returncode, here.files()) == ("series-without-end", 2, set())


def test_force_is_one_event_of_all(here: Here) -> None:
    body = json.loads(here.run(*OUTBOUND, "--force", "--json", "--", "true").stdout)
    assert (body["types"], body["recording"]) == (["p", "np", "cpl"], "perf.data")


def test_dry_run(here: Here) -> None:
    done = here.run(*OUTBOUND, "--duration", "2", "--dry-run")
    assert len(done.stdout.splitlines()) == 3
    body = json.loads(here.run(*OUTBOUND, "--duration", "2", "--dry-run", "--json").stdout)
    assert [run["command_line"] for run in body["runs"]] == done.stdout.splitlines()
    assert here.files() == set()


def test_a_second_series_does_not_replace_the_first_one(here: Here) -> None:
    """--force would be one event of all types; with --for it keeps the first recordings as .old."""
    planned = [*PORT, "--for", "payload", "--json", "--no-decode", "--duration", "0.1"]
    here.run(*OUTBOUND, "--no-decode", "--", "true")
    for words in ([*OUTBOUND, "--json", "--", "true"], [*OUTBOUND, "--type", "p,np", "--json", "--", "true"], planned):
        body = error_of(here.run(*words))
        assert (body["code"], body["exit_code"], "would trace all" in str(body["hint"])) == ("exists", 6, "--for" not in words)
        assert here.files() == files_of(1, 2, 3)
    done = here.run(*planned, "--force")
    assert "earlier-series" in [one["code"] for one in json.loads(done.stdout)["diagnostics"]]
    before = here.files()
    here.run(*planned, "--force")
    assert {name for name in here.files() - before if not name.endswith(".json")} == {
        "perf.1-inbound.data.old",
        "perf.2-outbound-cpl.data.old",
    }


# ---- what goes wrong


def test_a_series_whose_first_run_fails_leaves_nothing(here: Here) -> None:
    path = here.folder / "perf.series.json"
    before = Series(1, ("io",), (SeriesRun("x", "x.data", "e"),))
    save(path, before)
    done = here.run(*PORT, "--for", "payload", "--force", "--json", "--duration", "1", case="not-supported")
    assert done.returncode == 5
    assert "error" in json.loads(done.stdout)
    assert here.files() == {"perf.series.json"}
    assert load(path) == before


def test_a_file_that_is_no_series_is_not_overwritten(here: Here) -> None:
    path = here.folder / "perf.series.json"
    path.write_text("mine", encoding="utf-8")
    done = here.run(*OUTBOUND, "--json", "--duration", "1")
    assert (error_of(done)["code"], done.returncode) == ("not-a-series", 6)
    assert (here.files(), path.read_text(encoding="utf-8")) == ({"perf.series.json"}, "mine")


def test_an_output_that_cannot_be_written_is_seen_before_the_first_run(here: Here) -> None:
    (here.folder / "perf.3-outbound-cpl.data").mkdir()
    done = here.run(*OUTBOUND, "--json", "--", "true")
    assert (json.loads(done.stdout)["error"]["code"], done.returncode) == ("output-is-directory", 6)
    assert here.files() == {"perf.3-outbound-cpl.data"}


def test_a_run_that_fails_ends_the_series(here: Here) -> None:
    """While the first one runs, something takes the name of the second recording: what the first one recorded stays."""
    done = here.run(*OUTBOUND, "--json", "--", "mkdir", "-p", "perf.2-outbound-np.data")
    body: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == body["error"]["exit_code"] != 0
    assert states(load(here.folder / "perf.series.json")) == ["recorded", "failed", "planned"]
    assert [one["recording"] for one in body["recordings"]] == ["perf.1-outbound-p.data"]
    missing = next(one for one in body["diagnostics"] if one["code"] == "runs-missing")
    assert missing["details"]["missing"] == RUNS[1:]


def wait_for_run(live: Live, number: int, process: subprocess.Popen[str]) -> None:
    """Wait until perf writes the recording of a run."""
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size > 4096 for path in live.folder.glob(f"perf.{number}-*.part")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)


def test_ctrl_c_ends_the_whole_series(live: Live) -> None:
    """The run that is recorded is complete; the others are missing, and named."""
    process = live.start(*OUTBOUND, "--duration", "20", "--json")
    wait_for_run(live, 1, process)
    os.kill(live.ptttool(), signal.SIGINT)
    out, err = process.communicate(timeout=120)
    body = json.loads(out)
    assert process.returncode == 130, err
    assert (body["error"]["code"], body["error"]["missing"], body["stopped_by"]) == ("series-interrupted", RUNS[1:], "SIGINT")
    assert live.files() == files_of(1)
    assert is_complete(live.folder / "perf.1-outbound-p.data")
    assert states(load(live.folder / "perf.series.json")) == ["recorded", "planned", "planned"]


def test_a_killed_series_says_what_is_missing(live: Live) -> None:
    process = live.start(*OUTBOUND, "--type", "p,np", "--duration", "3")
    wait_for_run(live, 2, process)
    for pid in live.processes("trace"):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=120)
    deadline = time.monotonic() + 120
    while live.processes("record") and time.monotonic() < deadline:
        time.sleep(0.05)
    series = load(live.folder / "perf.series.json")
    assert [run.state for run in series.runs] == [RunState.RECORDED, RunState.RECORDING]
    assert [run.name for run in series.missing] == ["outbound-np"]
    assert is_complete(live.folder / "perf.1-outbound-p.data")


# ---- plans


def test_a_plan_and_what_came_of_it(here: Here) -> None:
    body = json.loads(here.run(*PORT, "--for", "latency", "--json", "--", "true").stdout)
    assert body["event"].endswith("type=6,direction=2,format=0/")
    assert [(one["code"], one["ok"]) for one in body["checks"]] == [("seen", True), ("open-ends", True)]
    assert "error" not in body


def test_a_plan_that_did_not_come_out(here: Here) -> None:
    """The device traces one of two types: the recording is kept, and the command fails."""
    packed = Path(__file__).parents[2] / "ptttool" / "demo" / "recordings" / "m-4dw-port10-type2-dir2.data.xz"
    done = here.run(*PORT, "--for", "latency", "--json", "--", "true", STANDIN_RECORDING=str(packed))
    body = json.loads(done.stdout)
    assert (done.returncode, body["error"]["code"], body["error"]["purposes"]) == (5, "not-in-recording", ["latency"])
    assert "perf.data" in here.files()


def test_options_replace_parts_of_a_plan(here: Here) -> None:
    done = here.run(*PORT, "--for", "payload", "--format", "8dw", "--aux-size", "32M", "--duration", "1", "--dry-run")
    assert ["direction=2,format=1/" in line for line in done.stdout.splitlines()] == [True, False]
    assert "-m ,32M" in done.stdout
    assert "inbound-8dw, outbound-cpl-8dw" in done.stderr


def test_a_series_of_a_plan_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["trace", "--demo", "--rootport", "nvme0", "--for", "payload", "--duration", "1", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert [run["state"] for run in body["runs"]] == ["recorded", "recorded"]
    assert [check["ok"] for check in body["checks"]] == [True, True, True]


def test_a_run_without_a_replay_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The demo has no recording of 8DW with all its parts for this device: the other run is there."""
    monkeypatch.chdir(tmp_path)
    words = ["trace", "--demo", "--rootport", "ens2", "--for", "attributes,payload", "--duration", "1", "--json"]
    assert main(words) == 3
    body = json.loads(capsys.readouterr().out)
    assert [run["state"] for run in body["runs"]] == ["recorded", "failed"]
    assert body["error"]["code"] == "no-such-recording"
    assert [one["code"] for one in body["diagnostics"]] == ["runs-missing"]
