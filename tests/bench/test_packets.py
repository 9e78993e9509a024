"""The benchmark of packet traces works on small traces and sees what is missing. Nothing here asserts how fast anything is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.commands import MIB, Measurement
from bench.packets import main, speeds

pytestmark = pytest.mark.slow


def test_every_row_has_bytes_a_second(tmp_path: Path) -> None:
    assert main(["--quick", "--data", str(tmp_path), "-o", str(tmp_path / "rows.json")]) == 0
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["name"] for row in rows] == ["etrace", "etmv2", "deformat"]
    for row in rows:
        assert row["error"] is None
        assert row["bytes_per_second"] == row["bytes"] / row["median"]
        assert row["bytes"] >= MIB


def test_bytes_that_are_missing_are_told(tmp_path: Path) -> None:
    deformat = next(speed for speed in speeds(tmp_path, MIB) if speed.name == "deformat")
    good = Measurement(deformat.command, report={"bytes": 1})
    assert "1 found" in str(deformat.problem(good))
