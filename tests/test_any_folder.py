"""A clone works in any folder: tests that look at paths, run in a copy whose folder is named as the package is, below one with a space."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

pytestmark = pytest.mark.slow

# One of each kind that has met such a folder: hints with the command's name, frames named by their folder, the tree's own pages and names,
# processes with the tree on their path, quoted command lines, umockdev.
TESTS = """
tests/test_wording.py tests/test_habits.py tests/test_docs.py::test_links_lead_somewhere tests/test_architecture.py::test_root_is_small
tests/test_fixtures.py tests/test_readme.py tests/campaign/test_fuzz.py::test_judge tests/campaign/test_fuzz.py::test_judge_of_commands
tests/cli/completion/test_answer.py::test_values[line4-values4]
tests/cli/test_current_folder.py::test_a_size_that_starts_processes tests/cli/test_event.py::test_without_any_device
tests/test_smoke.py::test_plug_in
"""
# What make and the tools leave, beside what .git has.
MADE = ".git .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache site dist build htmlcov bench/data campaign/fuzz/findings"


def made(folder: str, names: list[str]) -> list[str]:
    paths = [ROOT / path for path in MADE.split()]
    return [name for name in names if Path(folder, name) in paths]


def test_a_folder_with_a_space_and_an_umlaut(tmp_path: Path) -> None:
    clone = tmp_path / "ä b" / "ptttool"
    shutil.copytree(ROOT, clone, symlinks=True, ignore=made)
    environment = {**os.environ, "PYTHONPATH": str(clone)}
    words = [sys.executable, "-P", "-c", "import ptttool; print(ptttool.__file__)"]
    done = subprocess.run(words, cwd=clone, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{clone}/ptttool/__init__.py\n"
    words = [sys.executable, "-P", "-m", "pytest", "-q", f"--basetemp={tmp_path / 'ä b' / 'tmp'}", *TESTS.split()]
    done = subprocess.run(words, cwd=clone, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-10000:] + done.stderr
