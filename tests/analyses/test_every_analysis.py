"""What holds for every analysis: alone or together with others, in any number of processes, and shown in any medium."""

from __future__ import annotations

import io
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import ptttool
from ptttool.analyses.drawing.markdown import markdown
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.shown import no_names
from ptttool.cli.main import main
from ptttool.cli.views.shown.medium import Medium
from ptttool.cli.views.shown.parts import print_parts
from ptttool.documents import to_json
from tests import ROOT
from tests.support import captures

TLPS = captures.FOLDER / "6.12" / "m-4dw-port10-type7-dir2.data"
PACKETS = ROOT / "fixtures" / "etrace" / "median-basic.bin"


def opened(name: str) -> ptttool.Recording:
    """A recording that has the columns of an analysis."""
    if name == "elements":
        return ptttool.open(PACKETS, "riscv-encap", parameters={"srcid_bits": 6})
    return ptttool.open(TLPS, parameters={"downstream": "01"})


OF_TLPS = [name for name in ptttool.ANALYSES.names() if name != "elements"]


@cache
def alone(name: str) -> Any:
    with opened(name) as recording:
        return recording.analyze(name)


def test_all_together_are_as_each_alone() -> None:
    found = ptttool.analyze(TLPS, OF_TLPS, parameters={"downstream": "01"})
    assert {name: to_json(result) for name, result in found.recordings[0].results.items()} == {
        name: to_json(alone(name)) for name in OF_TLPS
    }


@pytest.mark.parametrize("name", ptttool.ANALYSES.names())
def test_any_number_of_processes_gives_the_same(name: str) -> None:
    with opened(name) as recording:
        assert to_json(recording.analyze(name, jobs=2)) == to_json(alone(name))


@pytest.mark.parametrize("name", ptttool.ANALYSES.names())
def test_rows_without_any(name: str) -> None:
    """A recording of which no row is wanted is one that is empty: nothing is divided by nothing."""
    with opened(name) as recording:
        result = recording.analyze(name, where="size < 0" if name == "elements" else "kind = 'MRd' AND kind = 'MWr'")
    assert list(result.shown(no_names)) is not None and to_json(result) is not None


@pytest.mark.parametrize("name", ptttool.ANALYSES.names())
def test_it_is_shown_in_every_medium(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = alone(name)
    assert isinstance(result, Shown)
    parts = list(result.shown(no_names))
    assert parts and markdown(parts).strip() and result._repr_html_()
    for width in (60, 80, 200, None):
        stream = io.StringIO() if width is None else Terminal()
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setenv("COLUMNS", str(width or 10_000))
        print_parts(parts, Medium(width is not None, width, True, 20))
        lines = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines()
        assert lines and (width is None or max(map(cell_len, lines)) <= width)


class Terminal(io.StringIO):
    """A standard output that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", sorted(captures.shapes()))
def test_every_recording(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recordings with holes, of both formats, cut off, empty: there is a result, or an error that says why not."""
    path = str(captures.path_of(name, tmp_path))
    code = main(["analyze", ",".join(OF_TLPS), path, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert code in (0, 2, 6)
    if code == 2:
        assert document["error"]["code"] == "missing-columns"
    elif list(document) != ["error"]:
        (found,) = document["recordings"]
        assert list(found["results"]) == OF_TLPS
        assert main(["analyze", ",".join(OF_TLPS), path]) == code
