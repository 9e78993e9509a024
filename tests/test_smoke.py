"""What every Python version runs: imports, the commands on the demo machine, one recording of each kind, a plug-in."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import ptttool
from ptttool.cli.main import main
from ptttool.errors import MissingPackageError
from tests import ROOT
from tests.support import captures
from tests.support.distributions import make_distribution

pytestmark = pytest.mark.smoke


def test_every_module_is_imported() -> None:
    names = [module.name for module in pkgutil.walk_packages(ptttool.__path__, "ptttool.") if not module.name.endswith("__main__")]
    assert len(names) > 100
    for name in names:
        try:
            importlib.import_module(name)
        except (ModuleNotFoundError, MissingPackageError) as error:  # an optional package, never a module of ours
            assert not str(error.__dict__.get("name_from") or getattr(error, "name", "")).startswith("ptttool"), name


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["filters"],
        ["tune", "show"],
        ["event", "--rootport", "0000:00:10.0"],
        ["explain", "0x7080001"],
    ],
    ids=" ".join,
)
def test_commands_on_the_demo_machine(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--demo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_record_and_decode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = tmp_path / "perf.data"
    assert main(["trace", "--demo", "--rootport", "0000:00:10.0", "-o", str(recording)]) == 0
    assert main(["info", str(recording), "--json"]) == 0
    for form in ("parquet", "arrow", "csv", "jsonl"):
        assert main(["decode", str(recording), "-o", str(tmp_path / f"out.{form}")]) == 0
    rows = [
        pl.read_parquet(tmp_path / "out.parquet").height,
        pl.read_ipc(tmp_path / "out.arrow").height,
        pl.read_csv(tmp_path / "out.csv", infer_schema=False).height,
        len((tmp_path / "out.jsonl").read_text().splitlines()),
    ]
    assert rows[0] > 0
    assert len(set(rows)) == 1


@pytest.mark.parametrize("form", ["4dw", "8dw"])
def test_workers(form: str, tmp_path: Path) -> None:
    recording = tmp_path / "perf.data"
    assert main(["generate", "--size", "1M", "--format", form, "-o", str(recording)]) == 0
    for jobs in ("1", "2"):
        assert main(["decode", str(recording), "--where", "kind = 'MRd'", "--jobs", jobs, "-o", str(tmp_path / f"{jobs}.parquet")]) == 0
    frame = pl.read_parquet(tmp_path / "1.parquet")
    assert frame.height > 0
    assert frame.equals(pl.read_parquet(tmp_path / "2.parquet"))


def test_recordings_of_perf(tmp_path: Path) -> None:
    """Compressed by perf, and written to a pipe."""
    for name in ("6.12/x-compress-z", "6.12/x-pipe"):
        assert main(["decode", str(captures.path_of(name, tmp_path)), "-o", str(tmp_path / "out.parquet"), "--force"]) == 0
        assert pl.read_parquet(tmp_path / "out.parquet").height > 0


@pytest.mark.parametrize(
    ("protocol", "parameters"),
    [
        ("riscv-encap", []),
        ("coresight-16", []),
        ("etmv2", ["data_addr=no", "data_value=no", "contextid_bytes=0"]),
        ("riscv-etrace", ["iaddress_width_p=64", "iaddress_lsb_p=1", "context_width_p=32", "ecause_width_p=5"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_packets(protocol: str, parameters: list[str], tmp_path: Path) -> None:
    trace = tmp_path / "trace.bin"
    trace.write_bytes(bytes(range(256)) * 16)
    options = [word for parameter in parameters for word in ("-p", parameter)]
    assert main(["decode", "--protocol", protocol, *options, "-o", str(tmp_path / "out.parquet"), str(trace)]) == 0
    assert pl.read_parquet(tmp_path / "out.parquet").height > 0


def test_flow(tmp_path: Path) -> None:
    program = ROOT / "fixtures" / "riscv" / "program"
    out = tmp_path / "out.csv"
    assert main(["flow", "--elf", f"{program}.elf", "-o", str(out), f"{program}.bin"]) == 0
    assert len(out.read_text().splitlines()) > 1


def test_plug_in(tmp_path: Path) -> None:
    text = "def toy() -> None:\n    print('toy')\n"
    make_distribution(tmp_path, "toys", {"toy_command": text}, {"ptttool.commands": {"toy": "toy_command:toy"}})
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run([sys.executable, "-m", "ptttool", "toy"], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "toy\n", "")
