"""Nothing is imported from the current folder, which may be a stranger's: by no command, and by no process that a command starts."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from ptttool.cli.app import app
from ptttool.cli.main import load_commands
from tests import ROOT
from tests.support import captures, machines

# What a command imports beside the standard library, and what Python itself looks for.
OTHERS = "ptttool typer rich numpy polars msgspec zstandard pyudev tomli_w distributed fsspec capstone elftools google perfetto "
OTHERS += "jinja2 markupsafe textual sitecustomize usercustomize"
# As pip writes it; it runs the command lines that its argument holds one after the other and writes down their exit codes.
SCRIPT = """
import json, sys
from ptttool.cli.main import main
from ptttool.__main__ import run

if __name__ == "__main__":
    if sys.argv[1] != "lines":
        run()
    codes = []
    for line in json.loads(sys.argv[2]):
        codes.append(main(line))
    open(sys.argv[3], "w").write(json.dumps(codes))
"""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module of every name that can be imported; one that runs leaves its name in ``ran``."""
    folder = tmp_path_factory.mktemp("strangers")
    ran = str(folder / "ran")
    for name in [*sys.stdlib_module_names, *OTHERS.split()]:
        (folder / f"{name}.py").write_text(f"open({ran!r}, 'a').write({name!r} + ' ')\nraise SystemExit(1)\n")
    return folder


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bin") / "ptttool"
    path.write_text(SCRIPT)
    return path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, env=environment | {"PYTHONPATH": str(ROOT)})
    assert not (folder / "ran").exists(), (folder / "ran").read_text()
    return done


def leaves(group: typer.core.TyperGroup, path: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, typer.core.TyperGroup):
            yield from leaves(command, f"{path}{name} ")
        else:
            yield path + name


# A command line that does the work of each command; those of --jobs with processes of their own.
LINES = {
    "analyze": "analyze summary --jobs 2 generated.data",
    "collect": "collect --demo --force -o collected.tar.gz",
    "compare": "compare --jobs 2 generated.data generated.data",
    "decode": "decode --jobs 2 --where tag=1 --force -o out.parquet generated.data",
    "doctor": "doctor --demo",
    "duckdb": "duckdb",
    "event": "event --demo --rootport 0000:00:10.0",
    "plan": "plan --demo --rootport 0000:00:10.0 --for latency",
    "explain": "explain --demo 0x7080001",
    "filters": "filters --demo",
    "flow": shlex.join(["flow", "--jobs", "2", "--elf", f"{ROOT}/fixtures/riscv/program.elf", f"{ROOT}/fixtures/etrace/median-basic.bin"]),
    "generate": "generate --size 64K --force -o generated.data",
    "info": "info --jobs 2 generated.data",
    "metrics": "metrics --demo -o out.prom",
    "recover": "recover --dry-run .",
    "list": "list --demo --tree",
    "report": "report --jobs 2 --force -o out.html generated.data",
    "selftest": f"selftest --from {ROOT}/fixtures/anchors",
    "tlp": "tlp 04000001 0000220f 01070000",
    "top": "top --demo --rootport 0000:00:10.0 --batch --count 1",
    "trace": "trace --demo --rootport 0000:00:10.0 --duration 1 -o traced.data",
    "tune apply": "tune apply --sysfs machine storage",
    "tune diff": "tune diff --demo profile.toml",
    "tune export": "tune export storage --demo --to systemd",
    "tune get": "tune get --demo hisi_ptt0_0",
    "tune history": "tune history --demo",
    "tune profiles": "tune profiles",
    "tune recover": "tune recover --demo",
    "tune save": "tune save --demo --force profile.toml",
    "tune set": "tune set --demo --dry-run hisi_ptt0_0 qos_tx_cpl=1",
    "tune show": "tune show --demo",
    "tune undo": "tune undo --sysfs machine",
    "tune sweep": "tune sweep --demo --device 0_0 --events qos_tx_p --values 2 --metric run:seconds --rounds 1 -o r.parquet -- true",
    "view": "view generated.data",
    "wireshark install": "wireshark install --folder plugins --force",
    "wireshark path": "wireshark path",
}
# Nobody knows whether a trace would work on a recorded machine; one assumption is refuted there; a view needs a terminal.
CODES = {"doctor": 1, "selftest": 1, "view": 2}
FIRST = ("generate", "tune save")


def test_every_command(planted: Path, script: Path) -> None:
    load_commands()
    names = {*leaves(typer.main.get_group(app))}
    assert names == set(LINES), "each command needs a line here"
    order = [*FIRST, *sorted(names - {*FIRST})]
    codes = planted / "codes.json"
    machines.copy_of(machines.NEW, planted).rename(planted / "machine")
    (planted / f"unfinished.data.{'0' * 16}.part").write_bytes(captures.content("6.12/x-idle"))
    done = run(planted, str(script), "lines", json.dumps([shlex.split(LINES[name]) for name in order]), str(codes))
    assert done.returncode == 0, done.stderr
    failed = {name: code for name, code in zip(order, json.loads(codes.read_text()), strict=True) if code != CODES.get(name, 0)}
    assert not failed, done.stderr


def test_a_size_that_starts_processes(planted: Path, script: Path) -> None:
    """The file has no content, and no option asks for processes."""
    with (planted / "perf.data").open("wb") as file:
        file.truncate(8 << 30)
    assert run(planted, str(script), "info", "perf.data").returncode == 6
