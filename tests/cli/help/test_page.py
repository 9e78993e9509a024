"""``--help``: groups in the order of use, summaries that fit, panels, no types of Python."""

from __future__ import annotations

import re

import pytest

from ptttool.cli import app as application
from ptttool.cli.help.about import Stage, about
from ptttool.cli.help.described import option_names, summary
from ptttool.cli.help.page import help_text, stages
from ptttool.cli.help.panels import Panel, in_panels
from ptttool.cli.main import load_commands, main
from ptttool.cli.terminal import colours
from tests.generated import manpages

load_commands()
ROOT_COMMAND = application.app.tree
CONTEXT = ROOT_COMMAND.make_context("ptttool", [], resilient_parsing=True)
COMMANDS = dict(manpages.walk(ROOT_COMMAND, "ptttool"))


def page_of(path: str) -> str:
    command = COMMANDS[path]
    if path == "ptttool":
        return help_text(command, CONTEXT)
    with command.make_context(path.removeprefix("ptttool "), [], parent=CONTEXT, resilient_parsing=True) as context:
        return help_text(command, context)


def test_stages_come_in_the_order_of_use() -> None:
    found = stages(ROOT_COMMAND)
    assert [*found] == [*Stage]
    assert found[Stage.FIND][0][0] == "list"
    assert found[Stage.READ][0][0] == "info"


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("path", COMMANDS)
def test_a_page_fits_its_terminal(path: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    examples = {f"    {example.line}" for example in about(COMMANDS[path]).examples}
    for line in page_of(path).splitlines():
        assert len(line) <= min(columns, 100) or line in examples or " " not in line.strip(), line


@pytest.mark.parametrize("path", COMMANDS)
def test_no_types_of_python_and_nothing_cut(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = page_of(path)
    assert not re.search(r"<\w+(\[\w+\])?>|list\[|\[x>=|\]\.\.\.\]|\{\w+\}", page)
    names = [len(name) for name in getattr(COMMANDS[path], "commands", {})]
    for name, command in getattr(COMMANDS[path], "commands", {}).items():
        if not command.hidden:
            assert len(summary(command)) + max(names) + 4 <= 80, f"the first sentence of {path} {name} does not fit 80 columns"


def test_options_stand_in_panels() -> None:
    panels = in_panels(COMMANDS["ptttool trace"].params[:-1])
    assert next(iter(panels)) == Panel.WHAT
    assert any("--rootport" in one.opts for one in panels[Panel.WHAT])


def test_a_switch_shows_both_its_names() -> None:
    names = [option_names(one) for one in COMMANDS["ptttool trace"].params if one.param_type_name == "option"]
    assert "--decode, --no-decode" in names
    assert "-o, --output FILE" in names
    assert "--format 4dw|8dw" in names


def test_a_command_of_another_package_needs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    @application.app.command("foreign")
    def foreign(number: int = 3) -> None:
        """Do something."""

    try:
        assert main(["foreign", "--help"]) == 0
        assert "--number N" in capsys.readouterr().out
        assert main(["--help"]) == 0
        assert "foreign" in capsys.readouterr().out
    finally:
        application.app.registered_commands[:] = [one for one in application.app.registered_commands if one.name != "foreign"]


def test_headings_are_bold_where_colour_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in page_of("ptttool trace")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert f"{colours.Style.HEADING}Usage" in page_of("ptttool trace")


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_examples(path: str) -> None:
    """State them in the command's file: see ``ptttool/cli/help/about.py``."""
    command = COMMANDS[path]
    assert hasattr(command, "commands") or about(command).examples


def test_the_list_of_commands_is_that_of_all_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("ptttool.cli.main.load_commands", pytest.fail)
    assert main(["--help"]) == 0
    assert capsys.readouterr().out.rstrip("\n") == page_of("ptttool").rstrip("\n")
