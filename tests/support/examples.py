"""Examples and tables in documents: they are run, made and compared. ``python -m tests.test_docs`` writes the real output into them.

``console`` blocks hold commands after ``$`` and what they print; a line ``…`` stands for lines left out. ``python`` blocks are programs
that run one after the other in one namespace; a ``text`` block right behind one holds what it prints. A block with a ``title`` is a file
that later examples find; of a ``pyproject.toml`` the entry points count as installed. Tables stand between ``<!-- name -->`` and
``<!-- /name -->``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import ROOT
from tests.support.distributions import make_distribution

LEFT_OUT = "…"
_EXAMPLE = re.compile(
    r"(?ms)^```console\n(?P<console>.*?)^```$"
    r"|^```python\n(?P<python>.*?)^```$(?:\n\n^```text\n(?P<text>.*?)^```$)?"
    r"|^```\w+ title=\"(?P<title>[^\"\n]+)\"\n(?P<file>.*?)^```$"
)

_PROGRAM = """\
import contextlib, io
with contextlib.redirect_stdout(io.StringIO()):
    exec(compile({!r}, "earlier examples", "exec"))
{}"""


@dataclass(frozen=True)
class Step:
    """One command, program or file, and what the document shows of its output (None: nothing is shown)."""

    language: str
    source: str
    shown: str | None
    title: str = ""


class Folder:
    """A folder like a clone of the project, in which the examples of one document run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._programs: list[str] = []
        self._made: set[Path] = set()
        fixtures = path / "fixtures"
        if not fixtures.exists():
            fixtures.symlink_to(ROOT / "fixtures")

    def run(self, step: Step) -> str:
        """What the step prints on a terminal of 100 columns, without colour."""
        if step.language == "console":
            return self._run(["sh", "-c", step.source])
        if step.language == "file":
            self._write(step.title, step.source)
            return ""
        for path in self._made:  # the earlier programs, which run again, make them again
            path.unlink(missing_ok=True)
        before = {*self.path.iterdir()}
        text = self._run([sys.executable, "-W", "error", "-c", _PROGRAM.format("\n".join(self._programs), step.source)])
        self._made |= {path for path in {*self.path.iterdir()} - before if path.is_file()}
        self._programs.append(step.source)
        return text

    def _write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if path.name == "pyproject.toml":
            project = tomllib.loads(text)["project"]
            make_distribution(self.path, project["name"], {}, project.get("entry-points", {}))

    def _run(self, command: list[str]) -> str:
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": f"{self.path}:{ROOT}",
            "COLUMNS": "100",
            "LC_ALL": "C.UTF-8",
            "HOME": str(self.path),
            "NO_COLOR": "1",
            "PYTHONUNBUFFERED": "1",
            # pytest removes the folders of earlier runs before it ends; those of whole runs of these tests take minutes.
            "PYTEST_DEBUG_TEMPROOT": str(self.path.parent),
        }
        done = subprocess.run(
            command, cwd=self.path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=120
        )
        return "\n".join(line.rstrip() for line in done.stdout.splitlines())


def examples(text: str) -> Iterator[tuple[re.Match[str], list[Step]]]:
    """The blocks of a document with their steps."""
    for found in _EXAMPLE.finditer(text):
        if found["console"] is not None:
            yield found, list(_commands(found["console"]))
        elif found["title"] is not None:
            yield found, [Step("file", found["file"], "", found["title"])]
        else:
            yield found, [Step("python", found["python"], None if found["text"] is None else found["text"].rstrip("\n"))]


def _commands(block: str) -> Iterator[Step]:
    source: str | None = None
    shown: list[str] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            if source is not None:
                yield Step("console", source, "\n".join(shown))
            source, shown = line[2:], []
        else:
            shown.append(line)
    assert source is not None, f"a console block begins with a command after $: {block}"
    yield Step("console", source, "\n".join(shown))


def matches(shown: str | None, real: str) -> bool:
    """Equal, where a line ``…`` in what is shown stands for any lines. A program that shows nothing may print, but not fail."""
    if shown is None:
        return "Traceback (most recent call last)" not in real
    pattern = r"(?:.*\n)*?".join(re.escape(part) for part in re.split(rf"(?m)^{LEFT_OUT}\n", shown + "\n"))
    return re.fullmatch(pattern, real + "\n") is not None


def refreshed(text: str, folder: Folder) -> str:
    """The document with the real output; where lines are left out, as many stay before them."""
    parts: list[str] = []
    at = 0
    for found, steps in examples(text):
        parts.append(text[at : found.start()])
        at = found.end()
        printed = [(step, folder.run(step)) for step in steps]
        if found["console"] is not None:
            lines = [line for step, real in printed for line in (f"$ {step.source}", _shown(step, real)) if line]
            parts.append("```console\n" + "\n".join(lines) + "\n```")
        elif found["title"] is not None:
            parts.append(found[0])
        else:
            (step, real), *_ = printed
            assert matches(None, real), real
            parts.append(f"```python\n{step.source}```" + ("" if step.shown is None else f"\n\n```text\n{_shown(step, real)}\n```"))
    return "".join(parts) + text[at:]


def _shown(step: Step, real: str) -> str:
    if step.shown is not None and LEFT_OUT in step.shown.splitlines():
        if matches(step.shown, real):
            return step.shown
        return "\n".join([*real.splitlines()[: step.shown.splitlines().index(LEFT_OUT)], LEFT_OUT])
    return real


def with_tables(text: str, tables: Mapping[str, str]) -> str:
    """The document with its tables made anew."""
    for name, table in tables.items():
        text = re.sub(rf"(?s)(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", lambda _, table=table: table, text)  # type: ignore[misc]
    return text


def table(head: str, rows: list[str]) -> str:
    """A Markdown table of ``a | b`` lines."""
    dashes = " | ".join("---" for _ in head.split(" | "))
    return "".join(f"| {row} |\n" for row in (head, dashes, *rows))
