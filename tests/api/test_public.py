"""``import ptttool``: what it offers, that this is documented, and that it costs nothing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ptttool
from tests import ROOT

SOURCE = Path(ptttool.__file__)


def test_every_name_is_there() -> None:
    assert all(getattr(ptttool, name) is not None for name in ptttool.__all__)
    assert set(ptttool.__all__) <= set(dir(ptttool))
    with pytest.raises(AttributeError):
        getattr(ptttool, "nothing")  # noqa: B009


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    homes = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert sorted(homes) == sorted(ptttool.__all__)
    assert homes == ptttool._HOMES


def test_the_guide_uses_public_names_alone() -> None:
    """Type checkers know ``ptttool.NAME`` for no other name: not for a module that nobody has imported."""
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    used = set(re.findall(r"(?<!from )(?<!import )(?<![\w./-])ptttool\.([A-Za-z]\w*)", text))
    assert "open" in used
    assert used <= set(ptttool.__all__)


def test_the_guide_pleases_a_type_checker(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    page = tmp_path / "page.py"
    page.write_text("\n".join(re.findall(r"(?ms)^```python\n(.*?)^```", text)), encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "mypy", str(page)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_reference_has_every_name() -> None:
    page = (ROOT / "docs" / "api" / "ptttool.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(ptttool.__all__)


def test_the_import_is_light() -> None:
    code = "import sys; before = set(sys.modules); import ptttool; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ptttool"]


def test_star_import_and_submodules() -> None:
    code = "from ptttool import *; from ptttool import registry; print(Severity.ERROR, open.__module__, registry.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["error", "ptttool.api.recording", "ptttool.registry"]
