"""Every fixture has a row that says how it was made, and every row a fixture."""

import re

from tests import ROOT

FIXTURES = ROOT / "fixtures"


def test_the_list_and_the_folder_agree() -> None:
    rows = set(re.findall(r"(?m)^\| `([^`]+)` \|", (FIXTURES / "README.md").read_text(encoding="utf-8")))
    folders = {row for row in rows if row.endswith("/")}
    files = {str(path.relative_to(FIXTURES)) for path in FIXTURES.rglob("*") if path.is_file() or path.is_symlink()} - {"README.md"}
    files = {name for name in files if "__pycache__" not in name}
    listed = {name for name in files if name in rows or any(name.startswith(folder) for folder in folders)}
    assert sorted(files - listed) == []
    assert sorted(row for row in rows if row not in files and not any(name.startswith(row) for name in files)) == []
