"""What root imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import ROOT
from tests.cli.test_current_folder import OTHERS

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="folders get another owner")
USER = 4321
# As the script does it. The module is one that an error in between imports.
CODE = """
import sys
from ptttool.__main__ import run
sys.argv = ["ptttool", *sys.argv[1:]]
try:
    run()
finally:
    print(*sys.path, sep="\\n", file=sys.stderr)
"""


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder of another user, with a module that is imported if it is found."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "tomli_w.py").write_text("raise SystemExit(99)")
    os.chown(folder, USER, USER)
    return folder


def run(path: Sequence[str], *arguments: str, cwd: Path | None = None, **extra: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("SUDO_UID", "SUDO_GID", "PYTHONPATH")}
    given = environment | {"PYTHONPATH": os.pathsep.join(path)} | extra
    return subprocess.run([sys.executable, "-P", "-c", CODE, *arguments], capture_output=True, text=True, env=given, cwd=cwd)


def searched(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("/")]


def warnings(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("ptttool: warning:")]


def test_nothing_is_said_of_roots_folders(tmp_path: Path) -> None:
    done = run([str(ROOT), str(tmp_path)], "tune", "save", "--demo", "-")
    assert (done.returncode, warnings(done)) == (0, [])
    assert str(tmp_path) in searched(done)


def test_a_folder_of_another_user_is_left_out(foreign: Path) -> None:
    done = run([str(foreign), str(ROOT)], "tune", "save", "--demo", "-")
    assert (done.returncode, len(warnings(done))) == (0, 1)
    assert str(foreign) in warnings(done)[0]
    assert str(foreign) not in searched(done)


@pytest.mark.parametrize("completes", [False, True])
def test_the_path_is_looked_at_before_any_package_is_imported(foreign: Path, completes: bool) -> None:
    for name in OTHERS.split():
        if name not in ("ptttool", "sitecustomize", "usercustomize"):  # Python itself imports the last two
            (foreign / f"{name}.py").write_text("raise SystemExit(99)")
    path = [str(foreign), str(ROOT)]
    done = run(path, "--help", _PTTTOOL_COMPLETE="bash") if completes else run(path, "--help")
    assert done.returncode == 0


@pytest.mark.parametrize("completes", [False, True])
def test_no_module_of_python_is_taken_from_a_folder_of_others(foreign: Path, completes: bool) -> None:
    """But for those that Python itself imports before ptttool's first line."""
    code = "import sys; print(*sys.modules)"
    before = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout.split()
    for name in sys.stdlib_module_names.difference(before, sys.builtin_module_names, ("sitecustomize", "usercustomize")):
        (foreign / f"{name}.py").write_text("raise SystemExit(99)")
    path = [str(foreign), str(ROOT)]
    words = ("tune", "save", "--demo", "-")
    done = run(path, *words, _PTTTOOL_COMPLETE="bash") if completes else run(path, *words)
    assert (done.returncode, str(foreign) in searched(done)) == (0, False)


def test_the_user_of_sudo_is_trusted(foreign: Path) -> None:
    done = run([str(foreign), str(ROOT)], "tune", "save", "--demo", "-", SUDO_UID=str(USER), SUDO_GID=str(USER))
    assert (done.returncode, warnings(done)) == (99, [])
    assert run([str(foreign), str(ROOT)], "tune", "save", "--demo", "-", SUDO_UID=str(USER + 1)).returncode == 0


def test_relative_paths_are_left_out(tmp_path: Path) -> None:
    """Python makes those of PYTHONPATH absolute; code that puts one into sys.path does not."""
    code = "import sys; sys.path[:0] = ['', 'here']\n" + CODE
    (tmp_path / "tomli_w.py").write_text("raise SystemExit(99)")
    command = [sys.executable, "-c", code, "tune", "save", "--demo", "-"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert (done.returncode, len(warnings(done))) == (0, 3)


def test_an_installation_of_others(tmp_path: Path) -> None:
    """That of another user gives a warning, one that everyone can write is refused."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "ptttool").symlink_to(ROOT / "ptttool")
    os.chown(home, USER, USER)
    (tmp_path / "shared").mkdir()
    os.chown(tmp_path / "shared", USER, USER)  # as pipx has it beside ptttool's own folder
    done = run([str(home), str(tmp_path / "shared")], "tlp", "04000001 0000220f 01070000")
    assert (done.returncode, len(warnings(done))) == (0, 1)
    assert str(tmp_path / "shared") not in searched(done)
    assert "pipx install --global" in warnings(done)[0]
    quiet = run([str(home)], "list", "--demo", "--quiet")
    assert (quiet.returncode, warnings(quiet)) == (0, [])
    home.chmod(0o777)
    done = run([str(home)], "tlp", "04000001 0000220f 01070000", "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (4, "unsafe-installation")


def test_python_m_forgets_the_current_folder(tmp_path: Path) -> None:
    for name in ("tomli_w", "typer", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(99)")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "ptttool", "tune", "save", "--demo", "-"]
    assert subprocess.run(command, capture_output=True, cwd=tmp_path, env=environment).returncode == 0


def test_workers_import_nothing_that_was_left_out(foreign: Path, tmp_path: Path) -> None:
    """The environment of the workers still names the folder."""
    ran = tmp_path / "ran"
    for name in ("multiprocessing", "pickle", "numpy", "sitecustomize"):
        (foreign / f"{name}.py").write_text(f"import sys\nif 'child.py' in str(sys.argv) or {name!r} == 'numpy': open({str(ran)!r}, 'w')\n")
    path = [str(foreign), str(ROOT)]
    assert run(path, "generate", "--size", "64K", "-o", "x.data", cwd=tmp_path).returncode == 0
    assert run(path, "info", "--jobs", "2", "x.data", cwd=tmp_path).returncode == 0
    assert not ran.exists()
