"""What a command says of itself beside its help text: its stage, its place there, examples, files.

A command states it where it registers itself::

    EXAMPLES = (
        Example("ptttool list --demo --tree", "Everything down to the endpoints."),
        Example("ptttool list ens2", "The PTT device that traces ens2.", on_demo=True),
    )

    @app.command("list", stage=Stage.FIND, rank=10, examples=EXAMPLES)
    def list_(...): ...

A group of commands does the same: ``tune = app.group("tune", "Show and set …", stage=Stage.TUNE, rank=10)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct


class Stage(StrEnum):
    """The stages of the work, in their order: the groups in which commands are listed. The value is the heading."""

    FIND = "Find"
    TUNE = "Tune"
    TRACE = "Trace"
    READ = "Read recordings"
    MORE = "More"


class Example(Struct, frozen=True):
    """An example: one command line that begins with ``ptttool``, and what it does.

    Parameters
    ----------
    line : str
        The command line. A test runs it, in a folder with the recordings that ``tests/cli/help/test_examples.py`` names.
    text : str
        What it does, in one line.
    on_demo : bool
        The line is for the machine it runs on; the test runs it with ``--demo``.
    exit_code : int
        The exit code that it ends with.
    needs_terminal : bool
        The test cannot run it: it is a screen, or measures the running machine. It is parsed only.
    """

    line: str
    text: str
    on_demo: bool = False
    exit_code: int = 0
    needs_terminal: bool = False


class KeptFile(Struct, frozen=True):
    """A file that a command keeps or reads by itself: for FILES of its manual page."""

    path: str
    text: str


class About(Struct, frozen=True):
    """What a command says of itself.

    Parameters
    ----------
    stage : Stage
        The group in which the command is listed.
    rank : int
        Position within the stage: lower numbers first, equal ones by name.
    examples : sequence of Example
        Examples, the simplest first.
    files : sequence of KeptFile
        Files that it keeps or reads by itself.
    related : sequence of str
        Further commands for SEE ALSO, such as ``tune save``.
    """

    stage: Stage = Stage.MORE
    rank: int = 50
    examples: Sequence[Example] = ()
    files: Sequence[KeptFile] = ()
    related: Sequence[str] = ()


def about(command: object) -> About:
    """Return what a command says of itself; a command of another package may say nothing."""
    attribute = getattr(command, "about", None)
    return attribute if isinstance(attribute, About) else About()
