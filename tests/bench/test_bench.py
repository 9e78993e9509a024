"""The benchmark works and computes what it says, on small recordings. Nothing here asserts how fast anything is."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import report
from bench.__main__ import main
from bench.commands import MEASURE, MIB, Command, Measurement, run
from bench.plan import FULL, QUICK, Row, plan
from tests import ROOT

pytestmark = pytest.mark.slow


def measurement(name: str, *seconds: float, error: str | None = None, peak: int = 0) -> Measurement:
    return Measurement(Command(name, (name,)), list(seconds), peak, 1, error)


def measured(*all_of_them: Measurement) -> dict[str, Measurement]:
    return {one.command.name: one for one in all_of_them}


@pytest.mark.parametrize(
    ("ratio", "wanted", "scale", "expected", "met"),
    [
        ("faster", 5, 1.0, 10.0, True),
        ("faster", 10, 1.0, 10.0, True),
        ("faster", 11, 1.0, 10.0, False),
        ("faster", 11, 4.0, 40.0, True),
        ("slower", 0.1, 1.0, 0.1, True),
        ("slower", 0.09, 1.0, 0.1, False),
        ("faster", None, 1.0, 10.0, None),
    ],
)
def test_ratios_are_of_medians(ratio: str, wanted: float | None, scale: float, expected: float, met: bool | None) -> None:
    commands = measured(measurement("ours", 5.0, 2.0, 1.0), measurement("theirs", 90.0, 20.0, 19.0))
    found = report.result(Row("row", "work", "ours", "theirs", ratio, wanted, scale), commands)
    assert (found.seconds, found.baseline_seconds, found.met) == (2.0, 20.0 * scale, met)
    assert found.ratio == pytest.approx(expected)


def test_a_row_that_failed_has_no_figures() -> None:
    commands = measured(measurement("ours", 1.0, error="exit code 2: no such option"), measurement("theirs", 1.0))
    ours = report.result(Row("row", "work", "ours", "theirs", wanted=5), commands)
    assert (ours.seconds, ours.ratio, ours.met, ours.error) == (None, None, None, "exit code 2: no such option")
    theirs = report.result(Row("row", "work", "theirs", "ours", wanted=5), commands)
    assert (theirs.seconds, theirs.ratio, theirs.met) == (1.0, None, None)
    assert theirs.error == "ours: exit code 2: no such option"


@pytest.mark.parametrize(("peak", "limit", "met"), [(399 * MIB, 400 * MIB, True), (400 * MIB, 400 * MIB, False), (0, 400 * MIB, None)])
def test_memory_is_held_against_its_limit(peak: int, limit: int, met: bool | None) -> None:
    commands = measured(measurement("ours", 1.0, peak=peak))
    assert report.result(Row("row", "work", "ours", peak_limit=limit), commands).peak_met is met


def test_the_plan_has_every_row_of_both_formats() -> None:
    whole = plan(FULL, {}, Path("folder"))
    names = [row.name for row in whole.rows]
    assert len(set(names)) == len(names)
    for form in ("8dw", "4dw"):
        wanted = {row.name.removesuffix(f"-{form}"): row.wanted for row in whole.rows if row.name.endswith(form)}
        assert wanted == {
            "perf": None, "info": 50, "info-middle": 120, "parquet": 20, "perf-text": 8, "csv": 5, "jsonl": 3, "where": 50, "jobs": 1.7,
            "pcapng": 5, "perfetto": 5,
            "parquet-large": None, "columns-core": 2.5, "columns-default": 2.5,
            "parquet-jobs": 1.7, "writer-polars": 1, "writer-pyarrow": 1, "writer-pyarrow-tuned": 1,
            "analyze-traffic": 20, "analyze-payload": 20, "analyze-errors": 20, "analyze-bandwidth": 20, "analyze-addresses": 20,
            "analyze-attributes": 20, "analyze-latency": 12, "analyze-outstanding": 12, "analyze-mmio": 20, "analyze-io": 12,
            "analyze-latency-large": 1.1, "analyze-io-large": 1.1, "report": 8, "report-large": 1.1,
        }  # fmt: skip
    assert {row.name: row.wanted for row in whole.rows if "dw" not in row.name} == {"help": 2.5, "list": 3}
    assert {name for row in whole.rows for name in (row.subject, row.baseline) if name} == set(whole.commands)
    assert next(row.scale for row in whole.rows if row.name == "info-middle-8dw") == 4


def test_a_part_of_the_plan_has_the_commands_that_it_needs() -> None:
    part = plan(QUICK, {}, Path("folder"), "csv")
    assert [row.name for row in part.rows] == ["csv-8dw", "csv-4dw"]
    assert list(part.commands) == ["perf-8dw", "csv-text-8dw", "perf-4dw", "csv-text-4dw"]


HOLD = "import sys, time; block = bytearray(b'x') * ({size} << 20); time.sleep(0.3)"


def test_memory_is_that_of_all_processes() -> None:
    """One with 60 MiB, and one with 90 that it starts."""
    child = HOLD.format(size=90)
    code = f"import subprocess, sys; block = bytearray(b'x') * (60 << 20); subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    found = Measurement(Command("two", (sys.executable, "-c", code)))
    run(found, timed=False)
    assert found.error is None
    assert found.processes == 2
    assert 150 * MIB < found.peak < 230 * MIB
    assert found.seconds == []
    run(found, timed=True)
    assert len(found.seconds) == 1
    assert found.seconds[0] > 0.3


def test_what_a_command_reports_counts() -> None:
    code = 'import time; time.sleep(0.2); print(\'{"seconds": 1.5, "more": 1}\')'
    found = Measurement(Command("own", (sys.executable, "-c", code), reports=True))
    run(found, timed=True)
    assert found.seconds == [1.5]
    assert found.report["more"] == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((sys.executable, "-c", "import sys; sys.exit('no such option')"), "exit code 1: no such option"),
        (("/nowhere/program",), "No such file or directory"),
        ((sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), "exit code -9"),
    ],
)
def test_a_command_that_fails_says_so_and_is_left_alone(words: tuple[str, ...], told: str) -> None:
    found = Measurement(Command("bad", words))
    run(found, timed=True)
    assert found.error is not None
    assert told in found.error
    run(found, timed=True)
    assert found.seconds == []
    assert found.median is None


def test_measuring_costs_little_memory() -> None:
    """What the kernel says of a small process is not what it says of its parent."""
    done = subprocess.run([sys.executable, "-I", "-S", str(MEASURE), "/dev/null", "/dev/null", "true"], capture_output=True, check=True)
    told = json.loads(done.stdout)
    assert told["exit_code"] == 0
    assert told["peak"] < 20 * MIB


def document(folder: Path, *options: str) -> dict[str, Any]:
    output = folder / "results.json"
    code = main(["--quick", "--data", str(folder / "data"), "-o", str(output), *options])
    found: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    assert code == (0 if all(check["good"] for check in found["checks"]) else 1)
    return found


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One run of all of 4DW on 1 MiB."""
    return document(tmp_path_factory.mktemp("bench"), "--only", "4dw")


def test_every_row_has_a_ratio_or_says_why_not(quick: dict[str, Any]) -> None:
    rows = {row["name"]: row for row in quick["rows"]}
    assert list(rows) == [row.name for row in plan(QUICK, {}, Path("folder"), "4dw").rows]
    for row in rows.values():
        assert (row["seconds"] is None) == (quick["commands"][row["command"]]["median"] is None)
        if row["error"] is None:
            assert row["peak_mib"] > 1
            assert (row["ratio"] is None) == (row["baseline"] is None)
        else:  # without a compiler
            assert shutil.which("cc") is None
            assert row["name"].startswith("columns-")
            assert (row["ratio"], row["met"]) == (None, None)


def test_ratios_come_from_what_was_measured(quick: dict[str, Any]) -> None:
    compared = 0
    for row in quick["rows"]:
        if row["ratio"] is None:
            continue
        ours, theirs = (quick["commands"][row[key]]["seconds"] for key in ("command", "baseline"))
        assert len(ours) == len(theirs) == quick["rounds"] == 1
        scaled = theirs[0] * row["baseline_scale"]
        assert row["ratio"] == pytest.approx(scaled / ours[0] if row["ratio_of"] == "baseline to command" else ours[0] / scaled)
        assert row["met"] == (row["ratio"] >= row["wanted"] if row["wanted_is"] == "at least" else row["ratio"] <= row["wanted"])
        compared += 1
    assert compared >= 8


def test_what_the_commands_put_out_is_checked(quick: dict[str, Any]) -> None:
    """Rows, sums and perf's text, at the size that is measured."""
    assert [check for check in quick["checks"] if not check["good"]] == []
    names = {check["name"] for check in quick["checks"]}
    assert {"info-4dw", "parquet-4dw", "csv-4dw", "jsonl-4dw", "perf-text-4dw", "perf-size-4dw"} <= names


def test_parquet_writers_write_the_same_table(quick: dict[str, Any]) -> None:
    reports = {name: quick["commands"][f"writer-{name}-4dw"]["report"] for name in ("own", "polars", "pyarrow", "pyarrow-tuned")}
    assert {report["rows"] for report in reports.values()} == {(1 << 20) // 16}
    assert all(report["same"] and report["bytes"] > 1000 for report in reports.values())


def test_the_machine_and_the_inputs_are_described(quick: dict[str, Any]) -> None:
    assert {"cpu", "cores", "memory_mib", "kernel", "python", "perf", "numpy", "polars", "ptttool"} <= set(quick["machine"])
    assert quick["machine"]["cores"] >= 1
    small = next(one for one in quick["inputs"] if one["file"] == "nvme-4dw-1M.data")
    assert (small["records"], small["format"], small["profile"]) == ((1 << 20) // 16, "4dw", "nvme")


def test_recordings_are_kept_for_the_next_run(tmp_path: Path) -> None:
    options = ["--only", "where-8dw", "--no-checks"]
    assert document(tmp_path, *options)["checks"] == []
    path = tmp_path / "data" / "nvme-8dw-1M.data"
    before = path.stat().st_mtime_ns
    document(tmp_path, *options)
    assert path.stat().st_mtime_ns == before
    stamp = path.with_suffix(".json")
    stamp.write_text(stamp.read_text().replace('"generator": "', '"generator": "another '))
    document(tmp_path, *options)
    assert path.stat().st_mtime_ns > before


def test_an_unknown_row_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "floppy", "--data", str(tmp_path / "data"), "-o", str(tmp_path / "out")]) == 2
    assert "known: perf-8dw, info-8dw" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_make_knows_it() -> None:
    done = subprocess.run(["make", "-n", "bench", "BENCH_ARGS=--quick"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "-m bench --quick" in done.stdout, done.stderr
