"""``ptttool report``: one file on recordings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ptttool
from ptttool.cli.main import main
from ptttool.documents import to_json
from ptttool.pipeline.recording import OpenRecording
from ptttool.pipeline.walk import Walk
from ptttool.pipeline.workers.pool import Workers
from ptttool.report.chapters import wanted
from tests.support import captures

TLPS = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data"
PACKETS = ["--protocol", "riscv-encap", "-p", "srcid_bits=6", "fixtures/etrace/median-basic.bin"]


def document(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["report", *arguments, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_formats_by_suffix(tmp_path: Path) -> None:
    for name, start in (("r.html", b"<!DOCTYPE html>"), ("r.md", b"# "), ("r.json", b"{"), ("r", b"<!DOCTYPE html>")):
        assert main(["report", str(TLPS), "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_bytes().startswith(start)
    assert main(["report", str(TLPS), "--to", "md", "-o", str(tmp_path / "x.html")]) == 0
    assert (tmp_path / "x.html").read_bytes() == (tmp_path / "r.md").read_bytes()


def test_an_existing_file_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "r.html"
    output.write_bytes(b"mine")
    assert main(["report", str(TLPS), "-o", str(output)]) != 0
    assert output.read_bytes() == b"mine"
    assert main(["report", str(TLPS), "-o", str(output), "--force"]) == 0
    assert output.read_bytes() != b"mine"
    assert [path.name for path in tmp_path.glob("r*")] == ["r.html"]


def test_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["report", str(TLPS), "-o", "-"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"<!DOCTYPE html>")


def test_the_results_are_those_of_the_analyses_in_one_pass(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    walks = []
    walk = OpenRecording.walk

    def counted(self: OpenRecording, workers: Workers) -> Walk:
        walks.append(self)
        return walk(self, workers)

    monkeypatch.setattr(OpenRecording, "walk", counted)
    [found] = document(capsys, str(TLPS))["recordings"]
    assert len(walks) == 1
    assert (found["path"], found["protocol"], found["records"]) == (str(TLPS), "hisi-ptt", 5569)
    with ptttool.open(TLPS) as recording:
        names = [name for name in ptttool.ANALYSES.names() if set(ptttool.ANALYSES.get(name).columns) <= set(recording.schema.names)]
        assert sorted(found["results"]) == sorted(names)
        assert found["results"]["summary"] == to_json(recording.analyze("summary"))
    assert document(capsys, str(TLPS), "--jobs", "2")["recordings"] == [found]


def test_several_recordings_and_one_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.txt"
    other.write_text("nothing", encoding="utf-8")
    found = document(capsys, str(TLPS), str(other), str(TLPS), code=6)["recordings"]
    assert [each["path"] for each in found] == [str(TLPS), str(other), str(TLPS)]
    assert found[1]["error"]["code"] == "foreign-file"
    assert found[0] == found[2]
    page = tmp_path / "r.html"
    assert main(["report", str(TLPS), str(other), "-o", str(page)]) == 6
    assert b"other.txt" in page.read_bytes()


def test_a_damaged_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.data"
    cut.write_bytes(TLPS.read_bytes()[:100_000])
    [found] = document(capsys, str(cut), code=6)["recordings"]
    assert 0 < found["records"] < 5569
    assert found["error"]["code"] == "truncated"
    assert main(["report", str(cut), "-o", str(tmp_path / "r.html")]) == 6
    assert (tmp_path / "r.html").exists()


def test_other_protocols(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    [found] = document(capsys, *PACKETS)["recordings"]
    assert set(found["results"]) == {"elements", "loss"}
    assert main(["report", *PACKETS, "-o", str(tmp_path / "r.html")]) == 0


def test_the_demo(tmp_path: Path) -> None:
    output = tmp_path / "r.html"
    assert main(["report", "--demo", "-o", str(output)]) == 0
    text = output.read_text(encoding="utf-8")
    assert "nvme0" in text
    assert str(Path("/tmp/ptttool")) not in text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "no-file"),
        (["x", "--to", "pdf"], "unknown-format"),
        (["-", "-"], "stdin-twice"),
    ],
)
def test_wrong_usage(arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    with_json = [] if "--to" in arguments else ["--json"]
    assert main(["report", *arguments, *with_json]) == 2
    shown = capsys.readouterr()
    if with_json:
        assert json.loads(shown.out)["error"]["code"] == code


def test_loss_comes_first() -> None:
    names = wanted([*ptttool.ANALYSES.names(), "zzz"])
    assert names[0] == "loss"
    assert names[-1] == "zzz"
