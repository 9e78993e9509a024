"""Commands of other packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, "-m", "ptttool", *arguments], capture_output=True, text=True, env=environment)


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


@pytest.mark.parametrize("name", ["broken", "empty"])
def test_a_command_that_cannot_be_loaded(installed: Path, name: str) -> None:
    done = run(installed, name)
    assert (done.returncode, done.stdout) == (8, "")
    assert "Traceback" not in done.stderr


def test_a_built_in_command_is_not_replaced(installed: Path) -> None:
    done = run(installed, "list", "--demo")
    assert done.returncode == 0
    assert "hisi_ptt" in done.stdout
