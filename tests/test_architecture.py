"""Who may import whom: the table of the house, held against the code's own imports."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "ptttool"
# Rooms that must not know each other.
SIBLINGS = ("host", "perfdata", "protocols", "packets", "export")
# Who alone may import a third party.
OWNERS = {"typer": {"cli"}, "rich": {"cli", "render"}, "pyudev": {"host"}}
# What rooms may import of the project, themselves aside; a room that is not listed may import all but the command line.
PURE = {"errors", "pci", "registry", "columns", "machine", "directions", "amounts", "wording", "auxtrace", "progress", "output_format"}
ALLOWED = {
    "errors": set[str](),
    "wording": set[str](),
    "auxtrace": set[str](),
    "progress": set[str](),
    "output_format": {"errors"},
    "registry": {"errors"},
    "pci": {"errors"},
    "columns": {"errors"},
    "directions": {"errors"},
    "machine": {"errors", "pci"},
    "topology": PURE,
    "resolve": PURE | {"topology"},
    "event": PURE,
    "event_string": PURE | {"event"},
    "explain": PURE | {"event", "event_string", "topology"},
    "knobs": PURE,
    "tune_profile": PURE | {"knobs"},
    "tlp": PURE,
    "textual": PURE,
    "where": PURE,
    "perftext": PURE | {"trace", "protocols", "tlp"},
    "block": PURE,
    "frames": PURE | {"block"},
    "rowtext": PURE | {"block"},
    "parquet": PURE | {"block"},
    "arrow_file": PURE | {"block", "frames"},
    "export": PURE | {"block", "rowtext", "parquet", "arrow_file"},
    "protocols": PURE | {"tlp", "block"},
    "workers": PURE,
    "jobs": PURE | {"workers", "protocols", "storage"},
    "storage": PURE,
    "cluster": PURE | {"workers"},
    "dataset": PURE | {"jobs", "parquet", "protocols", "selection", "storage", "trace", "workers"},
    "perfdata": PURE | {"storage"},
    "elf_image": PURE,
    "packets": PURE | {"elf_image"},
    "packet_rows": PURE | {"packets"},
    "packet_frames": PURE | {"packets"},
    "packet_table": PURE | {"packets"},
    "packet_text": PURE | {"packets", "packet_frames", "packet_rows", "packet_table", "textual"},
    "packet_parquet": PURE | {"packets", "packet_rows", "parquet"},
    "packet_output": PURE | {"packets", "packet_rows", "packet_table", "packet_text", "packet_parquet", "parquet", "export"},
    "coresight_sources": PURE | {"packets", "perfdata"},
    "packet_trace": PURE | {"packets", "perfdata", "rawdump", "trace", "coresight_sources"},
    "loss": PURE | {"perfdata", "empty_recording", "event"},
    "atomic": PURE,
    "sidecar": PURE | {"atomic"},
    "selection": PURE | {"where", "trace", "protocols", "block", "frames", "export", "workers"},
    "render": PURE | {"textual", "tlp", "topology"},
    "trace": PURE | {"perfdata", "protocols", "tlp", "rawdump", "event", "block", "jobs", "selection", "workers", "frames", "storage"},
    "rawdump": PURE | {"perfdata", "storage"},
    "generate": PURE | {"event", "tlp", "loss", "perfdata"},
}
# Start-up of every command imports these; none of them may cost more than the command line itself.
HEAVY = ("numpy", "polars", "pyudev", "rich.table", "rich.progress", "zstandard")


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path, *, type_checking: bool = True) -> Iterator[str]:
    """Dotted names that a module imports, wherever it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def inner_rooms(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imports(path) if name.startswith("ptttool.")} - {"__version__"}


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports(path: Path) -> None:
    here = room(path)
    used = inner_rooms(path)
    if here in SIBLINGS:
        assert not used & (set(SIBLINGS) - {here})
    if here not in ("cli", "__main__"):
        assert "cli" not in used
    if here in ALLOWED:
        assert used - {here} <= ALLOWED[here]
    for name in imports(path):
        owners = OWNERS.get(name.split(".")[0])
        assert owners is None or here in owners, f"{name} belongs to {owners}"


def test_start_up_is_light() -> None:
    """Loading every command imports nothing heavy."""
    code = (
        "import sys; from ptttool.cli.main import load_commands; load_commands();"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
