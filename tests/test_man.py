"""The committed manual pages are those that the command tree gives."""

from ptttool.cli import manpages
from tests import ROOT

MAN = ROOT / "man"


def test_pages_are_up_to_date() -> None:
    wanted = manpages.pages()
    held = {path.name: path.read_text(encoding="utf-8") for path in MAN.glob("*.1")}
    assert sorted(held) == sorted(wanted), "run `make man`"
    stale = [name for name in wanted if held[name] != wanted[name]]
    assert not stale, "run `make man`"


def test_every_command_and_option_is_explained() -> None:
    import typer.main

    from ptttool.cli.app import app

    for path, command in manpages.walk(typer.main.get_command(app), "ptttool"):
        assert command.help, f"{path} has no help text"
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{path}: {parameter.name} has no help text"
