"""``ptttool analyze``: any analysis of any recording."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ptttool
from ptttool.cli.main import main
from ptttool.documents import to_json
from tests.support import captures

TLPS = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data"
PACKETS = ["--protocol", "riscv-encap", "-p", "srcid_bits=6", "fixtures/etrace/median-basic.bin"]


def document(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["analyze", *arguments, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    listed = {each["name"]: each for each in document(capsys, "--list")["analyses"]}
    assert sorted(listed) == ptttool.ANALYSES.names()
    assert listed["summary"]["columns"] == list(ptttool.ANALYSES.get("summary").columns)
    assert main(["analyze", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(each["meaning"] in shown for each in listed.values())


def test_the_result_is_that_of_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "summary", str(TLPS))
    assert (found["path"], found["protocol"], found["analysis"], found["diagnostics"]) == (str(TLPS), "hisi-ptt", "summary", [])
    assert found["lacks"] == []
    with ptttool.open(TLPS) as recording:
        result = to_json(recording.analyze("summary"))
    assert {key: found[key] for key in result} == result
    assert document(capsys, "summary", str(TLPS), "--jobs", "2") == found
    reads = document(capsys, "summary", str(TLPS), "--where", "kind = 'MRd'")
    assert reads["kinds"] == {"MRd": found["kinds"]["MRd"]}
    assert document(capsys, "elements", *PACKETS)["records"] == 277
    odd = document(capsys, "elements", *PACKETS, "--where", "channel = 5")
    assert odd["channels"] == {"5": odd["records"]}


def test_other_tlps_than_asked_for_are_a_sign_in_every_analysis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(captures.path_of("faults/filter-not-in-force", tmp_path))
    signs = document(capsys, "loss", path)["signs"]
    assert [each["code"] for each in signs] == ["not-as-asked"]
    assert document(capsys, "summary", path)["loss"] == signs
    # A condition leaves only a part of what was asked for.
    assert document(capsys, "summary", path, "--where", "kind = 'MRd'")["loss"] == []


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "summary", str(TLPS)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["records", "5,569"] in lines
    assert ["inbound", "P", "MWr", "4,930", "88.5", "%", "1,205,812", "100.0", "%", "0"] in lines


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["elements", str(TLPS)], "missing-columns"),
        (["sumary", str(TLPS)], "unknown-analysis"),
        (["summary"], "missing-argument"),
        (["summary", str(TLPS), "--where", "knd = 1"], "unknown-column"),
        (["summary,sumary", str(TLPS)], "unknown-analysis"),
        (["summary", "-", "-"], "stdin-twice"),
        (["summary", str(TLPS), "--to", "pdf"], "unknown-form"),
    ],
)
def test_wrong_usage(arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert document(capsys, *arguments, code=2)["error"]["code"] == code


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [([], ["NAME", "FILE"]), (["traffic,loss"], ["FILE"]), ([str(TLPS)], ["NAME"])],
)
def test_the_missing_argument_is_named(arguments: list[str], missing: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert document(capsys, *arguments, code=2)["error"]["missing"] == missing


def test_which_columns_are_missing(capsys: pytest.CaptureFixture[str]) -> None:
    error = document(capsys, "elements", str(TLPS), code=2)["error"]
    assert error["columns"] == ["size", "channel", "protocol", "flags"]


def test_a_damaged_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What could be read is summed up, then the exit code says that it was not all."""
    cut = tmp_path / "cut.data"
    cut.write_bytes(TLPS.read_bytes()[:100_000])
    found = document(capsys, "summary", str(cut), code=6)
    assert 0 < found["records"] < 5569
    assert found["error"]["code"] == "truncated"
    assert "truncated" in {each["code"] for each in found["diagnostics"]}
    assert main(["analyze", "summary", str(cut)]) == 6
    shown = capsys.readouterr()
    assert f"{found['records']:,}" in shown.out and "error" in shown.err


def test_standard_input() -> None:
    command = [sys.executable, "-m", "ptttool", "analyze", "summary", "-", "--json"]
    done = subprocess.run(command, input=TLPS.read_bytes(), capture_output=True, check=True)
    assert json.loads(done.stdout)["records"] == 5569


def test_several_analyses_and_recordings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each recording by itself, then the sum of what counts; a recording that cannot be read does not stop the others."""
    missing = str(tmp_path / "missing.data")
    found = document(capsys, "summary,loss", str(TLPS), missing, str(TLPS), code=6)
    first, bad, second = found["recordings"]
    assert list(first["results"]) == ["summary", "loss"] and first["results"] == second["results"]
    assert first["results"]["summary"]["records"] == 5569
    assert (bad["protocol"], bad["results"], bad["error"]["code"]) == (None, {}, "no-such-file")
    whole = found["sums"]["summary"]
    assert whole["records"] == 2 * 5569
    # The first time of one recording and the last time of another one are no range.
    assert (whole["time"]["first"], whole["time"]["last"]) == (None, None) and whole["time"]["largest"] is not None
    assert found["not_summed"] == {"loss": "each-recording"}
    for jobs in ("1", "2"):
        alone = document(capsys, "summary", str(TLPS), "--jobs", jobs)
        assert {key: alone[key] for key in first["results"]["summary"]} == first["results"]["summary"]


def test_recordings_of_other_events_have_no_sum(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "summary", str(TLPS), str(captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir1.data"))
    assert (found["sums"], found["not_summed"]) == ({}, {"summary": "other-event"})


def test_a_folder_of_recordings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder stands for the recordings in it; other files are no concern."""
    for name in ("b.data", "a.data"):
        (tmp_path / name).write_bytes(TLPS.read_bytes())
    (tmp_path / "notes.txt").write_text("no recording")
    found = document(capsys, "summary", str(tmp_path))
    assert [Path(each["path"]).name for each in found["recordings"]] == ["a.data", "b.data"]
    assert found["sums"]["summary"]["records"] == 2 * 5569
    empty = tmp_path / "empty"
    empty.mkdir()
    assert document(capsys, "summary", str(empty), code=6)["error"]["code"] == "no-recording"


def test_rows_of_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "summary", str(TLPS), "--top", "1"]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert any("MRd" in line for line in shown)
    assert not any("MWr" in line for line in shown) and ["and", "1", "more"] in shown


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "summary,loss", str(TLPS), "--to", "md"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "## summary" in lines and "## loss" in lines
    assert any("| MWr | 4,930 | 88.5 % | 1,205,812 |" in line for line in lines)


def test_signs_of_loss_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    """In the document of one and of several analyses, and above the result for people."""
    lossy = str(captures.FOLDER / "6.12" / "x-sigkill.data")
    assert main(["info", lossy, "--json"]) == 0
    signs = json.loads(capsys.readouterr().out)["signs_of_loss"]
    warned = [sign for sign in signs if sign["severity"] != "info"]
    assert warned
    assert document(capsys, "traffic", lossy)["loss"] == signs
    assert document(capsys, "traffic,payload", lossy)["recordings"][0]["loss"] == signs
    assert document(capsys, "traffic", str(TLPS))["loss"] == []
    for form in ([], ["--to", "md"]):
        assert main(["analyze", "traffic", lossy, *form]) == 0
        said = capsys.readouterr()
        first = said.out.split("\n\n")[0]
        assert warned[0]["severity"] in first
        assert main(["analyze", "traffic", str(TLPS), *form]) == 0
        assert "warning" not in capsys.readouterr().out
