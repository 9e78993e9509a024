"""The README's tour works as written: every ``console`` block is run, in order, and prints what the README shows.

``python tests/test_readme.py`` writes the real output and the columns into the README. A line ``…`` stands for lines left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ptttool.tlp.columns import COLUMNS, ENUMS, WORDS
from tests import ROOT

README = ROOT / "README.md"
BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")


TABLE = re.compile(r"(?s)(?<=<!-- columns -->\n).*?(?=<!-- /columns -->)")


def column_table() -> str:
    """The columns as the README shows them."""
    lines = ["| column | type | meaning |", "| --- | --- | --- |"]
    for column in (*COLUMNS, *WORDS):
        values = f": {' '.join(ENUMS[column.name])}" if column.dtype == "enum" else ""
        asked = " (with `--words`)" if column in WORDS else ""
        lines.append(f"| `{column.name}`{' *' if column.default else ''} | {column.dtype} | {column.meaning}{values}{asked} |")
    return "\n".join(lines) + "\n"


def run(command: str, folder: str) -> str:
    """What a terminal of 100 columns would show of a command in a clone of the project, without colour."""
    fixtures = Path(folder, "fixtures")
    if not fixtures.exists():
        fixtures.symlink_to(ROOT / "fixtures")
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "HOME": folder,
        "NO_COLOR": "1",
        "PYTHONUNBUFFERED": "1",
    }
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines())


def steps(block: str) -> list[tuple[str, str]]:
    """Commands of a block with the output shown below each."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(shown)) for command, shown in found]


def matches(shown: str, real: str) -> bool:
    """Equal, where a line ``…`` in what is shown stands for any lines."""
    pattern = r"(?:.*\n)*?".join(re.escape(part) for part in re.split(r"(?m)^…\n", shown + "\n"))
    return re.fullmatch(pattern, real + "\n") is not None


def test_the_tour_prints_what_the_readme_shows(tmp_path: Path) -> None:
    blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
    assert blocks, "the README has no console block"
    for command, shown in (step for block in blocks for step in steps(block)):
        real = run(command, str(tmp_path))
        assert matches(shown, real), f"$ {command}\n{real}\n--- the README shows\n{shown}"


def test_the_columns_are_those_of_the_code() -> None:
    found = TABLE.search(README.read_text(encoding="utf-8"))
    assert found is not None
    assert found[0] == column_table()


@pytest.mark.parametrize(
    ("shown", "real", "same"),
    [("a\nb", "a\nb", True), ("a\n…", "a\nb\nc", True), ("a\n…\nc", "a\nc", True), ("a", "a\nb", False), ("…\nc", "a\nb", False)],
)
def test_lines_left_out(shown: str, real: str, same: bool) -> None:
    assert matches(shown, real) is same


def write() -> None:
    """Put the real output into the README; a block that leaves lines out keeps as many lines before ``…``."""
    with tempfile.TemporaryDirectory() as folder:

        def fresh(block: re.Match[str]) -> str:
            lines = []
            for command, shown in steps(block[1]):
                real = run(command, folder)
                if "…" in shown.splitlines():
                    real = "\n".join([*real.splitlines()[: shown.splitlines().index("…")], "…"])
                lines += [f"$ {command}", *([real] if real else [])]
            return "```console\n" + "\n".join(lines) + "\n```"

        text = TABLE.sub(lambda _: column_table(), README.read_text(encoding="utf-8"))
        README.write_text(BLOCK.sub(fresh, text), encoding="utf-8")


if __name__ == "__main__":
    write()
