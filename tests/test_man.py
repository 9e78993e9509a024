"""The committed manual pages are those that the command tree gives."""

import re
import shutil
import subprocess

from tests import ROOT
from tests.generated import manpages

MAN = ROOT / "man"


def test_pages_are_up_to_date() -> None:
    wanted = manpages.pages()
    held = {path.name: path.read_text(encoding="utf-8") for path in MAN.glob("*.1")}
    assert sorted(held) == sorted(wanted), "run `make man`"
    stale = [name for name in wanted if held[name] != wanted[name]]
    assert not stale, "run `make man`"


def test_every_command_and_option_is_explained() -> None:

    from ptttool.cli.app import app

    for path, command in manpages.walk(app.tree, "ptttool"):
        assert command.help, f"{path} has no help text"
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{path}: {parameter.name} has no help text"


def test_pages_are_as_mandoc_wants_them() -> None:
    """Without a warning; of its remarks on style, those on the length of lines count, too."""
    assert shutil.which("mandoc") is not None, "install mandoc: make test does"
    done = subprocess.run(
        ["mandoc", "-Tlint", "-Wwarning", *map(str, sorted(MAN.glob("*.1")))], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_a_page_is_the_same_whenever_it_is_built() -> None:
    for path in MAN.glob("*.1"):
        head = path.read_text(encoding="utf-8").splitlines()[1]
        assert f'"{manpages.RELEASES[manpages.VERSION]}"' in head
        assert path.read_text(encoding="utf-8").count(".SH NAME") == 1


def test_related_pages_exist() -> None:
    names = {path.stem for path in MAN.glob("*.1")}
    for path in MAN.glob("*.1"):
        below = path.read_text(encoding="utf-8").partition(".SH SEE ALSO")[2].replace("\\-", "-")
        others = set(re.findall(r"fB([\w-]+)\\fR\(1\)", below))
        assert others <= names
        assert path.stem not in others
        assert path.stem == "ptttool" or len(others) <= 14
