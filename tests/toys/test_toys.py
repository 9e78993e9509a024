"""A protocol, an analysis, an exporter and a command of one file each, used from the command line and from Python.

Once as another package that is installed, and once as files dropped beside their siblings in ptttool itself.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ptttool
from tests.support import captures
from tests.support.distributions import make_distribution

pytestmark = pytest.mark.slow

TOYS = Path(__file__).parent
FOLDERS = {
    "protocol": "decoders",
    "analysis": "analyses",
    "exporter": "exporters",
    "command": "cli/commands",
    "tool": "sweep/metrics/tools",
}
GROUPS = {
    "protocol": "ptttool.protocols",
    "analysis": "ptttool.analyses",
    "exporter": "ptttool.exporters",
    "command": "ptttool.commands",
    "tool": "ptttool.sweep_tools",
}
TOY = ["--protocol", "toy", "-p", "longest=9"]
TLPS = captures.FOLDER / "6.12" / "m-8dw-port10-type7-dir2.data"
# Three packets.
PACKETS = b"\x02ab\x01c\x03def"
Run = Callable[..., subprocess.CompletedProcess[str]]


def text_of(kind: str) -> str:
    return (TOYS / f"toy_{kind}.py").read_text(encoding="utf-8")


def runs_in(folder: Path) -> Run:
    """Runs Python where the modules of a folder come first."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}

    def run(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=folder)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


@pytest.fixture(scope="module", params=["installed", "dropped"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Python with the toys: as an installed distribution, or as files in a copy of the package."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "installed":
        modules = {f"toy_{kind}": text_of(kind) for kind in GROUPS}
        make_distribution(folder, "toys", modules, {group: {"toy": f"toy_{kind}"} for kind, group in GROUPS.items()})
    else:
        package = Path(ptttool.__file__).parent
        shutil.copytree(package, folder / "ptttool", ignore=shutil.ignore_patterns("__pycache__"))
        for kind, place in FOLDERS.items():
            (folder / "ptttool" / place / "toy.py").write_text(text_of(kind), encoding="utf-8")
    (folder / "packets").write_bytes(PACKETS)
    return runs_in(folder)


def objects(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_protocol(run: Run) -> None:
    found = objects(run("-m", "ptttool", "decode", *TOY, "--json", "packets"))
    assert [(each["index"], each["length"], bytes.fromhex(each["payload"])) for each in found] == [
        (0, 2, b"ab"),
        (3, 1, b"c"),
        (5, 3, b"def"),
    ]
    some = objects(run("-m", "ptttool", "decode", *TOY, "--where", "length > 1", "--limit", "1", "--json", "packets"))
    assert [each["index"] for each in some] == [0]
    listed = json.loads(run("-m", "ptttool", "decode", "--protocols", "--json").stdout)
    assert "toy" in [each["name"] for each in listed["protocols"]]


def test_analysis(run: Run) -> None:
    """Of any protocol, and in several processes."""
    for options in ([], ["--jobs", "2"]):
        document = json.loads(run("-m", "ptttool", "analyze", "toy", "--json", *options, str(TLPS)).stdout)
        even, odd = sum(range(0, 5569, 2)), sum(range(1, 5569, 2))
        assert {key: document[key] for key in ("rows", "sums", "path")} == {"rows": 5569, "sums": {"0": even, "1": odd}, "path": str(TLPS)}
    packets = json.loads(run("-m", "ptttool", "analyze", "toy", "--json", *TOY, "packets").stdout)
    assert packets["sums"] == {"0": 0, "1": 8}
    shown = run("-m", "ptttool", "analyze", "toy", *TOY, "packets").stdout
    assert ["rows", "3"] in [line.split() for line in shown.splitlines()]
    assert "toy" in [each["name"] for each in json.loads(run("-m", "ptttool", "analyze", "--list", "--json").stdout)["analyses"]]


def test_exporter(run: Run, tmp_path: Path) -> None:
    """By its name and by its suffix, with everything that the context knows."""
    traced = tmp_path / "perf.data"
    run("-m", "ptttool", "trace", "--demo", "--no-decode", "--rootport", "0000:00:10.0", "-o", str(traced))
    head = ["# recordings 1", "# protocol hisi-ptt", "# title hisi-ptt", "# devices hisi_ptt0_0", "# diagnostics none", "# columns index"]
    by_name = run("-m", "ptttool", "decode", "--to", "toy", "--limit", "2", str(traced)).stdout.splitlines()
    assert by_name == [*head, "(0,)", "(1,)"]
    run("-m", "ptttool", "decode", "-o", str(tmp_path / "out.toy"), "--jobs", "2", str(traced))
    lines = (tmp_path / "out.toy").read_text().splitlines()
    assert lines[:6] == head
    assert lines[6:] == [f"({number},)" for number in range(len(lines) - 6)]
    packets = run("-m", "ptttool", "decode", *TOY, "--to", "toy", "packets").stdout.splitlines()
    assert packets[1:4] == ["# protocol toy", "# title toy", "# devices none"]
    assert packets[6:] == ["(0,)", "(3,)", "(5,)"]


def test_command(run: Run) -> None:
    assert run("-m", "ptttool", "toy", str(TLPS)).stdout == "5569\n"
    assert run("-m", "ptttool", "toy", "packets", "--protocol", "toy").stdout == "3\n"
    assert "toy" in run("-m", "ptttool", "--help").stdout


def test_tool(run: Run, tmp_path: Path) -> None:
    words = ["tune", "sweep", "--demo", "--device", "0_0", "--events", "qos_tx_p", "--values", "0", "--rounds", "1", "--json"]
    output = str(tmp_path / "r.parquet")
    document = json.loads(run("-m", "ptttool", *words, "--metric", "toy:rings", "-o", output, "--", "echo", "ring ring").stdout)
    assert document["plan"]["metrics"] == [{"name": "toy:rings", "unit": "rings", "better": "lower"}]
    assert [one["median"] for one in document["results"][0]["settings"]] == [2, 2]


PYTHON = """
import ptttool
from ptttool.documents import to_json

assert all("toy" in registry.names() for registry in (ptttool.PROTOCOLS, ptttool.ANALYSES, ptttool.EXPORTERS))
with ptttool.open("packets", "toy", parameters={"longest": 2}) as recording:
    print(recording.to_polars()["index"].to_list())
    print(to_json(recording.analyze("toy", divisor=3))["sums"])
    print(recording.export("from-python.toy", force=True))
with open("from-python.toy") as file:
    print(file.read().splitlines()[-1])
"""


def test_from_python(run: Run) -> None:
    assert run("-c", PYTHON).stdout.splitlines() == ["[0, 3, 5, 6, 7, 8]", "{'0': 9, '1': 7, '2': 13}", "6", "(8,)"]


BROKEN = {"missing": "import not_there", "silent": "", "raising": "raise RuntimeError('broken')", "leaving": "raise SystemExit(3)"}
ASKED = {
    "protocol": ["decode", "--protocol", "{name}", str(TLPS)],
    "analysis": ["analyze", "{name}", str(TLPS)],
    "exporter": ["decode", "--to", "{name}", str(TLPS)],
    "command": ["{name}"],
    "tool": "tune sweep --demo --device 0_0 --events qos_tx_p --values 0 --metric {name}:x -o r.parquet -- true".split(),
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Python with a package of which nothing works."""
    folder = tmp_path_factory.mktemp("broken")
    points = {group: {name: f"broken_{name}" for name in BROKEN} for group in GROUPS.values()}
    make_distribution(folder, "broken-things", {f"broken_{name}": text for name, text in BROKEN.items()}, points)
    return runs_in(folder)


@pytest.mark.parametrize("kind", ASKED)
@pytest.mark.parametrize("name", ["missing", "silent"])
def test_a_broken_plug_in_says_so(broken: Run, kind: str, name: str) -> None:
    arguments = [argument.format(name=name) for argument in ASKED[kind]]
    done = broken("-m", "ptttool", *arguments, *([] if kind == "command" else ["--json"] if kind == "analysis" else []), code=8)
    assert f"broken_{name}" in done.stderr
    assert "broken-things" in done.stderr
    if kind == "analysis":
        assert json.loads(done.stdout)["error"]["code"] == "bad-plug-in"


def test_the_others_are_not_disturbed(broken: Run, tmp_path: Path) -> None:
    """Lists report what is broken and show the rest; nothing else mentions it."""
    assert broken("-m", "ptttool", "decode", str(TLPS), "-o", str(tmp_path / "out.csv")).stderr.count("\n") == 1
    assert broken("-m", "ptttool", "info", str(TLPS)).stderr == ""
    assert json.loads(broken("-m", "ptttool", "analyze", "summary", "--json", str(TLPS)).stdout)["records"] == 5569
    for arguments in (["decode", "--protocols"], ["analyze", "--list"], ["--help"]):
        done = broken("-m", "ptttool", *arguments)
        assert all(f"broken_{name}" in done.stderr for name in BROKEN)
    code = "import ptttool; print([len(registry.broken()) for registry in (ptttool.PROTOCOLS, ptttool.ANALYSES, ptttool.EXPORTERS)])"
    assert broken("-c", code).stdout == "[4, 4, 4]\n"
