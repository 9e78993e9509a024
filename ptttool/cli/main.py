"""Run a command line, and turn exceptions into messages and exit codes."""

from __future__ import annotations

import copy
import errno
import functools
import importlib
import inspect
import os
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from ptttool._version import __version__
from ptttool.cli import commands
from ptttool.cli.app import app
from ptttool.cli.help.about import About, Stage
from ptttool.cli.help.commands import Command, Escaped
from ptttool.cli.terminal.colours import When, choose
from ptttool.cli.terminal.streams import CLOSED, no_standard_output
from ptttool.cli.terminal.talk import PrintedError, be_quiet, report_error, say, warn
from ptttool.cli.unexpected import explained
from ptttool.errors import AccessError, InputError, InternalError, OutputError, PlugInError, PtttoolError
from ptttool.kernel import is_compiled
from ptttool.registry import PlugIns, allow_foreign_plug_ins, left_out
from ptttool.wording import as_root, clean

PLUG_INS = PlugIns("command", "ptttool.commands")


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"ptttool {__version__}{'' if is_compiled() else ' (not compiled: slower)'}")
        raise typer.Exit


def _show_completion(shell: str | None) -> None:
    if shell is not None:
        from ptttool.cli.completion.scripts import script_of

        typer.echo(script_of(shell), nl=False)
        raise typer.Exit


def _install_completion(value: bool) -> None:
    if value:
        from ptttool.cli.completion.scripts import install

        path, then = install()
        say(f"ptttool: wrote {clean(str(path))}; {clean(then)}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", "-V", help="Show the version.", callback=_print_version, is_eager=True)] = False,
    install_completion: Annotated[
        bool,
        typer.Option("--install-completion", help="Install completion for your shell.", callback=_install_completion, is_eager=True),
    ] = False,
    show_completion: Annotated[
        str | None,
        typer.Option(
            "--show-completion",
            metavar="bash|zsh|fish",
            help="Print the script that completes command lines in a shell.",
            callback=_show_completion,
            is_eager=True,
            show_default=False,
        ),
    ] = None,
    plugins: Annotated[
        bool,
        typer.Option(
            "--plugins",
            help="As root, load plug-ins also from folders that others than root can write. PTTTOOL_PLUGINS=1 does the same.",
        ),
    ] = False,
    crash_report: Annotated[
        Path | None,
        typer.Option(
            "--crash-report",
            metavar="FILE",
            help="After an internal error, write what developers need to this new file. PTTTOOL_CRASH_REPORT=FILE does the same.",
            readable=False,
        ),
    ] = None,
) -> None:
    """Handle the options before the command; :func:`main` has read them."""


ALIASES = {"calibrate": "selftest"}
"""Other names of commands."""


def load_commands(arguments: Sequence[str] = ()) -> list[PlugInError]:
    """Import the modules that hold the commands; each registers itself on :data:`ptttool.cli.app.app`.

    Parameters
    ----------
    arguments : sequence of str
        The command line. If the first argument names a command, only that command is imported, which is faster.

    Returns
    -------
    list of PlugInError
        One error for each command of another package that could not be loaded.

    Raises
    ------
    PlugInError
        The first argument names a command of another package that cannot be loaded.
    """
    built_in = _built_in()
    command = arguments[0] if arguments else None
    if command in built_in:
        importlib.import_module(f"{commands.__name__}.{command}")
        return []
    if command is not None and command in PLUG_INS.names():
        _load_plug_in(command)
        return []
    if command is not None and (refused := PLUG_INS.refused(command)) is not None:
        raise refused
    for name in sorted(built_in):
        importlib.import_module(f"{commands.__name__}.{name}")
    problems = PLUG_INS.clashes(built_in)
    for name in PLUG_INS.names():
        if name not in built_in:
            try:
                _load_plug_in(name)
            except PlugInError as error:
                problems.append(error)
    return problems


@functools.cache
def _built_in() -> frozenset[str]:
    """Return the names of the modules that hold our own commands."""
    return frozenset(module.name for module in pkgutil.iter_modules(commands.__path__))


def _load_plug_in(name: str) -> None:
    """Import a command of another package; a plain function or a ``typer.Typer`` gets the name of its entry point."""
    loaded = PLUG_INS.load(name)
    if name in {command.name for command in app.registered_commands} | {str(group.name) for group in app.registered_groups}:
        return
    if isinstance(loaded, typer.Typer):
        app.add_typer(loaded, name=name)
    elif inspect.isfunction(loaded):
        app.command(name)(loaded)
    else:
        raise PLUG_INS.registers_nothing(name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    own, command = _options_before(arguments)
    if command and command[0] in ALIASES:
        command = [ALIASES[command[0]], *command[1:]]
        arguments = [*own, *command]
    if "--plugins" in own:
        allow_foreign_plug_ins()
    try:
        return _run(arguments, own, command)
    except PtttoolError as error:
        return report_error(explained(error, arguments) if isinstance(error, InternalError) else error, arguments)
    except PrintedError as printed:
        return report_error(printed.error)
    except TyperException as error:
        return _report_usage(error, arguments)
    except SystemExit as leaving:
        return _left(leaving)
    except OSError as error:
        if isinstance(error, BrokenPipeError) or error.errno == errno.EPIPE:
            return _closed_pipe()
        return report_error(_from_os_error(error), arguments)
    except BaseException as error:
        return _unexpected(error.__cause__ or error if isinstance(error, Escaped) else error, arguments)
    finally:
        for problem in left_out():
            warn(clean(problem.message))
        choose(When.AUTO)
        be_quiet(False)


def _unexpected(error: BaseException, arguments: Sequence[str]) -> int:
    explanation = explained(error, arguments)
    if isinstance(error, KeyboardInterrupt) and explanation.hint is None:
        say(f"ptttool: interrupted{_kept(arguments)}")
        return explanation.exit_code
    return report_error(explanation, arguments)


_WHOLE = ("decode", "flow", "generate", "report")
"""Commands whose output gets its name when it is whole."""


def _kept(arguments: Sequence[str]) -> str:
    """Return what became of the output of a command that Ctrl-C has ended."""
    ours = _options_before([*arguments])[1]
    if not ours or ours[0] not in _WHOLE:
        return ""
    for word, following in zip(ours, [*ours[1:], None], strict=True):
        output = word.removeprefix("--output=") if word.startswith("--output=") else following if word in ("-o", "--output") else None
        if output is not None and output != "-" and not output.endswith("/"):
            path = Path(output)
            return f": {clean(output)} is as it was before" if path.is_file() else "" if path.exists() else ", nothing is written"
    return ""


def _listed(own: Sequence[str]) -> dict[str, Command]:
    """Return the commands that the help lists, where nothing but that is asked for and there are no others.

    They are read from a file: to import them all takes a tenth of a second.
    """
    if not own or not {*own} <= {"--help", "-h"} or PLUG_INS.names():
        return {}
    from ptttool.cli.completion.words import listed

    listing: dict[str, Command] = {}
    for stage, summaries in listed().items():
        for rank, (name, summary) in enumerate(summaries.items()):
            listing[name] = Command(name, help=summary)
            listing[name].about = About(Stage(stage), rank)
    return listing if listing.keys() == _built_in() else {}


def _run(arguments: list[str], own: list[str], command: list[str]) -> int:
    listed = _listed(own) if not command else {}
    for problem in [] if listed or {"--version", "-V"} & {*own} else load_commands(command):
        warn(clean(problem.message))
    group = app.tree
    if listed:
        group = copy.copy(group)
        group.commands = {**group.commands, **listed}
    try:
        result = group.main(arguments, prog_name="ptttool", standalone_mode=False)
    except SystemExit as leaving:  # a plug-in
        if leaving.code:
            raise
        result = 0
    sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _options_before(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split a command line into the options before the command, and the command with its arguments."""
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in ("--crash-report", "--color", "--show-completion") else 1
    return arguments[:at], arguments[at:]


def _left(leaving: SystemExit) -> int:
    """Return the exit code of a command that raised SystemExit: after a signal, from a plug-in, or as the reader of its output has gone."""
    # On a closed pipe, typer and rich exit with 1.
    if isinstance(leaving.__context__, BrokenPipeError):
        return _closed_pipe()
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    say(f"ptttool: error: {clean(str(leaving.code))}")  # as Python does
    return 1


def _closed_pipe() -> int:
    """Return exit code 0 if the reader of standard output has ended (``| head``), and make Python's flush at exit succeed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _from_os_error(error: OSError) -> PtttoolError:
    from ptttool.files.failures import output_code

    reason = error.strerror or str(error)
    if error.errno == errno.EBADF and "stdout" in CLOSED and error.filename is None:
        return no_standard_output()
    if error.errno == errno.ENOMEM:
        return explained(MemoryError(), ())
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG):
        whole = error.filename is not None and not Path(error.filename).exists()
        hint = "no incomplete file was left behind" if whole else None
        return OutputError(f"{error.filename or 'standard output'}: {reason}", hint=hint, code=output_code(error))
    if isinstance(error, PermissionError):
        # A file that is not there was to be written.
        other = "choose another folder, or " if error.filename is not None and not os.path.lexists(error.filename) else ""
        return AccessError(f"{error.filename or 'input'}: {reason}", hint=other + as_root())
    return InputError(str(error.filename or "input"), reason)


def _report_usage(error: TyperException, arguments: Sequence[str]) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError" and context is not None:
        sys.stderr.write(context.get_help() + "\n")
        return 2
    from ptttool.cli.help.mistakes import said

    return report_error(said(error, arguments), arguments)
