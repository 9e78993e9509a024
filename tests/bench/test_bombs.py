"""Hostile inputs: each is read within limits that are wide for what it holds, and narrow for what it asks for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.bombs import BOMBS
from bench.bombs.__main__ import limits
from tests import ROOT

pytestmark = pytest.mark.slow

SECONDS, ADDRESS_SPACE = 8, 2 << 30
# One or two of each reader; `python -m bench.bombs` runs them all.
CHOSEN = (
    "condition-doubled", "elf-names", "elf-packed", "elf-segments", "encap-sources", "flow-jumps", "flow-sources", "machine-cpumask-large",
    "machine-multipath", "machine-udev-packed", "machine-udev-paths", "parameters-blanks", "profile-dots", "recording-shared-ids",
    "recording-zstd-large", "snapshot-blanks",
)  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_a_bomb_is_read_within_limits(name: str, tmp_path: Path) -> None:
    bomb = BOMBS[name]
    arguments = bomb.make(tmp_path, bomb.size)
    done = subprocess.run(
        [sys.executable, "-m", "ptttool", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        preexec_fn=limits(SECONDS, ADDRESS_SPACE),
        check=False,
    )
    assert done.returncode == bomb.exit_code, done.stdout[-1000:] + done.stderr[-1000:]
    assert "Traceback" not in done.stderr
    if bomb.code is not None and "--json" in arguments:
        assert json.loads(done.stdout)["error"]["code"] == bomb.code
