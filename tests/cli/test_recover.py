"""``ptttool recover``, and what ``trace`` and ``info`` say of unfinished recordings."""

from __future__ import annotations

import json
import lzma
import struct
from pathlib import Path
from typing import Any

import pytest

from ptttool.capture import replay
from ptttool.cli.main import main

MARK = "0123456789abcdef"


@pytest.fixture
def unfinished(tmp_path: Path) -> Path:
    """A recording that perf did not finish."""
    whole = lzma.decompress((replay.FOLDER / "m-8dw-port10-type7-dir2.data.xz").read_bytes())
    path = tmp_path / f"perf.data.{MARK}.part"
    position, size = struct.unpack_from("<QQ", whole, 40)
    path.write_bytes(whole[:48] + bytes(8) + whole[56 : position + size])
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[dict[str, Any], str]:
    assert main([*arguments, "--json"]) == code
    said = capsys.readouterr()
    return json.loads(said.out), said.err


def test_recover(unfinished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = unfinished.with_name("perf.data")
    before, _ = run(capsys, "recover", "--dry-run", str(wanted))
    assert unfinished.exists()
    (one,) = before["recordings"]
    assert (one["unfinished"], one["state"], one["tlps"], one["recording"]) == (str(unfinished), "cut-short", 5569, None)
    after, _ = run(capsys, "recover", str(wanted))
    assert after["recordings"] == [{**one, "recording": str(wanted)}]
    assert not unfinished.exists()
    assert run(capsys, "info", str(wanted))[0]["records"] == 5569
    assert run(capsys, "recover", str(wanted.parent))[0] == {"recordings": []}


def test_the_current_folder(unfinished: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(unfinished.parent)
    (one,) = run(capsys, "recover", "--dry-run")[0]["recordings"]
    assert Path(one["unfinished"]).name == unfinished.name


def test_for_people(unfinished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unfinished.with_name("perf.data").write_bytes(b"the last one")
    assert main(["recover", "--force", str(unfinished)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert str(unfinished) in out[0]
    assert "perf.data.old" in out[1]


def test_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(capsys, "recover", str(tmp_path / "perf.data"), code=6)[0]["error"]["code"] == "nothing-unfinished"
    assert run(capsys, "recover", str(tmp_path / f"x.{MARK}.part"), code=6)[0]["error"]["code"] == "no-such-file"
    assert run(capsys, "recover", str(tmp_path / "no" / "folder"), code=6)[0]["error"]["code"] == "bad-input"
    capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    assert main(["recover"]) == 0
    assert str(tmp_path) in capsys.readouterr().err


def test_one_that_is_still_recorded_does_not_stop_the_others(unfinished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = unfinished.with_name(f"other.data.{MARK}.part")
    other.write_bytes(unfinished.read_bytes())
    with unfinished.open("ab"):
        assert run(capsys, "recover", str(unfinished), code=6)[0]["error"]["code"] == "still-recording"
        body, err = run(capsys, "recover", str(unfinished.parent))
    assert {one["state"] for one in body["recordings"]} == {"still-recording", "cut-short"}
    assert "still being recorded" in err
    assert {path.name for path in unfinished.parent.iterdir()} == {unfinished.name, "other.data"}


def test_one_that_cannot_get_its_name_does_not_stop_the_others(unfinished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = unfinished.with_name(f"a.data.{MARK}.part")
    other.write_bytes(unfinished.read_bytes())
    unfinished.with_name("a.data").mkdir()
    body, err = run(capsys, "recover", "--force", str(unfinished.parent), code=6)
    assert {one["unfinished"]: one["recording"] for one in body["recordings"]} == {
        str(other): None,
        str(unfinished): str(unfinished.with_name("perf.data")),
    }
    assert err.count("ptttool: error: ") == 1


def test_the_next_trace_reports_it(unfinished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = unfinished.with_name("new.data")
    body, err = run(capsys, "trace", "--demo", "--rootport", "0000:00:10.0", "-o", str(output))
    assert [one["code"] for one in body["warnings"]] == ["unfinished-recording"]
    assert str(unfinished) in err
    assert unfinished.exists()


def test_info_of_the_name_that_was_wanted(unfinished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = run(capsys, "info", str(unfinished.with_name("perf.data")), code=6)[0]["error"]
    assert (error["code"], error["unfinished"]) == ("no-such-file", [str(unfinished)])
    assert "ptttool recover" in error["hint"]


def test_info_of_an_unfinished_recording(unfinished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body, err = run(capsys, "info", str(unfinished))
    assert body["records"] == 5569
    assert f"ptttool recover {unfinished}" in err
    with unfinished.open("ab"):
        assert "still being recorded" in run(capsys, "info", str(unfinished))[1]


def test_info_of_a_recording_beside_an_unfinished_one(unfinished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = unfinished.with_name("perf.data")
    whole.write_bytes(unfinished.read_bytes())
    assert str(unfinished) in run(capsys, "info", str(whole))[1]
