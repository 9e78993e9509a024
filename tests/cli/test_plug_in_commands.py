"""Commands of other packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.support.distributions import make_distribution

REGISTERED = '''
from ptttool.cli.app import app

@app.command("toy")
def toy(number: int) -> None:
    """Double a number."""
    print(2 * number)
'''
FUNCTION = '''
def shout(text: str) -> None:
    """Print a text in capitals."""
    print(text.upper())
'''
GROUP = '''
import typer

group = typer.Typer(help="Two commands.")

@group.command("up")
def up() -> None:
    """Go up."""
    print("up")

@group.command("down")
def down() -> None:
    """Go down."""
    print("down")
'''


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A distribution with commands of every form, good and bad."""
    make_distribution(
        tmp_path,
        "toys",
        {"toy_registered": REGISTERED, "toy_function": FUNCTION, "toy_group": GROUP, "toy_broken": "import not_there", "toy_empty": ""},
        {
            "ptttool.commands": {
                "toy": "toy_registered",
                "shout": "toy_function:shout",
                "lift": "toy_group:group",
                "broken": "toy_broken",
                "empty": "toy_empty",
                "list": "toy_function:shout",
            }
        },
    )
    return tmp_path


def run(installed: Path, *arguments: str, home: bool = False, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a command; ``home``: ptttool itself is installed in that folder, too."""
    path = [str(installed)]
    if home:
        if not (installed / "ptttool").is_symlink():
            (installed / "ptttool").symlink_to(ROOT / "ptttool")
    else:
        path.append(str(ROOT))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path)} | extra
    return subprocess.run([sys.executable, "-m", "ptttool", *arguments], capture_output=True, text=True, env=environment, cwd=installed)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [(("toy", "21"), "42\n"), (("shout", "hello"), "HELLO\n"), (("lift", "up"), "up\n")],
)
def test_commands_run(installed: Path, arguments: tuple[str, ...], output: str) -> None:
    done = run(installed, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, output, "")


def test_help_lists_them_and_reports_those_that_are_not_there(installed: Path) -> None:
    done = run(installed, "--help")
    assert done.returncode == 0
    listed = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")}
    assert {"toy", "shout", "lift", "list", "decode"} <= listed
    assert not {"broken", "empty"} & listed
    warnings = done.stderr.splitlines()
    assert len(warnings) == 3
    assert all(any(name in line for line in warnings) for name in ("broken", "empty", "list"))


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="files get another owner")


@pytest.fixture
def foreign(installed: Path) -> Path:
    """The distribution belongs to another user."""
    for path in (installed, *installed.rglob("*")):
        os.chown(path, 1234, 1234)
    return installed


@as_root
def test_root_loads_no_plug_in_that_another_user_can_change(foreign: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The folder is one that ptttool needs: others are not searched at all."""
    toy = run(foreign, "toy", "21", "--json", home=True)
    assert (toy.returncode, json.loads(toy.stdout)["error"]["code"]) == (8, "plug-in-left-out")
    help = run(foreign, "--help", home=True)
    assert help.returncode == 0
    listed = {line.split()[0] for line in help.stdout.splitlines() if line.startswith("  ")}
    assert not {"toy", "shout", "lift"} & listed
    assert sum("toy_function:shout" in line for line in help.stderr.splitlines()) == 2  # shout and list
    assert "toy_" not in run(foreign, "tlp", "04000001 0000220f 01070000", home=True).stderr


@as_root
def test_root_can_ask_for_them(foreign: Path) -> None:
    assert run(foreign, "--plugins", "toy", "21", home=True).stdout == "42\n"
    assert run(foreign, "toy", "21", home=True, PTTTOOL_PLUGINS="1").stdout == "42\n"
    assert run(foreign, "toy", "21", home=True, PTTTOOL_PLUGINS="0").returncode == 8


@as_root
def test_a_module_of_another_user(installed: Path, tmp_path: Path) -> None:
    """The distribution is root's, the module is not."""
    os.chown(installed / "toy_function.py", 1234, 1234)
    assert run(installed, "shout", "hello").returncode == 8
    assert run(installed, "toy", "21").stdout == "42\n"


@pytest.mark.parametrize("name", ["broken", "empty"])
def test_a_command_that_cannot_be_loaded(installed: Path, name: str) -> None:
    done = run(installed, name)
    assert (done.returncode, done.stdout) == (8, "")
    assert "Traceback" not in done.stderr


def test_a_built_in_command_is_not_replaced(installed: Path) -> None:
    done = run(installed, "list", "--demo")
    assert done.returncode == 0
    assert "hisi_ptt" in done.stdout
