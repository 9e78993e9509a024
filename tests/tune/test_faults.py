"""The state folder on a real file system that takes nothing more: tune attributes stay as they were, and nothing is lost."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import pytest

from ptttool.machine.sources.files import FolderFiles
from tests import ROOT
from tests.support import machines

TUNE = "sys/bus/event_source/devices/hisi_ptt0_0/tune"


def run(*arguments: str) -> tuple[int, str]:
    """Run a command in this process; return its exit code and the code of its error."""
    from ptttool.cli.main import main

    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        code = int(main([*arguments, "--json"]))
    return code, json.loads(out.getvalue()).get("error", {}).get("code", "")


def inside(tree: str, state: str, fault: str) -> None:
    """In a mount namespace: a change, then a fault of the file system, then commands, then the repair of the fault, then undo."""
    found: dict[str, Any] = {}
    machine = ["--sysfs", tree]

    def values() -> list[str]:
        return [Path(tree, TUNE, name).read_text().strip() for name in ("qos_tx_p", "qos_tx_np")]

    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", state], check=True)
    Path(state).chmod(0o700)
    assert run("tune", "set", "hisi_ptt0_0", "qos_tx_p=2", *machine) == (0, "")
    before = values()
    filling = Path(state, "filling")
    if fault == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", state], check=True)
    else:
        with suppress(OSError), filling.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(512))
    for name, line in {
        "set": ["set", "hisi_ptt0_0", "qos_tx_p=0", "qos_tx_np=0"],
        "apply": ["apply", "network"],
        "default": ["apply", "default"],
        "undo": ["undo"],
        "dry": ["undo", "--dry-run"],
        "history": ["history"],
        "show": ["show"],
    }.items():
        found[name] = run("tune", *line, *machine)
    found["kept"] = values() == before
    if fault == "read-only":
        subprocess.run(["mount", "-o", "remount,rw", state], check=True)
    else:
        filling.unlink()
    found["after"] = run("tune", "undo", *machine)
    found["values"] = values()
    print(json.dumps(found))


def test_an_attribute_that_vanishes_while_a_profile_is_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver takes it away after the first writes: all others have their old values, and nothing is half done."""
    tree = machines.copy_of(machines.NEW, tmp_path)
    machine = ["--sysfs", str(tree)]
    write, writes = FolderFiles.write, 0

    def vanish(self: FolderFiles, path: str, data: bytes) -> None:
        nonlocal writes
        writes += 1
        if writes == 4:
            (tree / TUNE / "tx_alloc_buf_level").unlink(missing_ok=True)
            (tree / TUNE.replace("0_0", "2_0") / "rx_alloc_buf_level").unlink()
        write(self, path, data)

    def values() -> dict[str, str]:
        return {str(path): path.read_text().strip() for path in (tree / "sys/devices").glob("**/tune/*")}

    before = values()
    with monkeypatch.context() as patch:
        patch.setattr(FolderFiles, "write", vanish)
        code, error = run("tune", "apply", "network", *machine)
    # One of the attributes that were written is gone: what it holds cannot be told.
    assert (code, error) == (7, "not-restored")
    left = values()
    assert {path: value for path, value in before.items() if path in left} == left
    assert len(before) - len(left) == 2
    assert run("tune", "recover", *machine)[0] == 1
    assert run("tune", "recover", "--keep", *machine)[0] == 0
    assert run("tune", "history", *machine)[0] == 0


def test_an_attribute_that_appeared_is_left_alone(tmp_path: Path) -> None:
    tree = machines.copy_of(machines.NEW, tmp_path)
    machine = ["--sysfs", str(tree)]
    assert run("tune", "save", str(tmp_path / "p.toml"), *machine) == (0, "")
    (tree / TUNE / "qos_new").write_text("1\n")
    assert run("tune", "set", "hisi_ptt0_0", "qos_new=2", "qos_tx_p=2", *machine) == (0, "")
    assert run("tune", "apply", str(tmp_path / "p.toml"), *machine) == (0, "")
    assert (tree / TUNE / "qos_new").read_text().strip() == "2"
    assert run("tune", "undo", "2", *machine) == (0, "")
    assert (tree / TUNE / "qos_new").read_text().strip() == "1"


@pytest.mark.parametrize("fault", ["read-only", "full"])
def test_a_state_folder_that_takes_nothing(fault: str, tmp_path: Path) -> None:
    tree, state = machines.copy_of(machines.NEW, tmp_path), tmp_path / "state"
    state.mkdir()
    code = f"from tests.tune.test_faults import inside; inside({str(tree)!r}, {str(state)!r}, {fault!r})"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", sys.executable, "-B", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, "PTTTOOL_STATE_DIR": str(state), "PTTTOOL_RUNTIME_DIR": str(tmp_path / "run")},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    refused = [6, "no-journal"]
    assert found == {
        "set": refused,
        "apply": refused,
        "default": refused,
        "undo": refused,
        "dry": [0, ""],
        "history": [0, ""],
        "show": [0, ""],
        "kept": True,
        "after": [0, ""],
        "values": ["1", "1"],
    }
