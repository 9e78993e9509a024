"""Run a command line, and turn exceptions into messages and exit codes."""

from __future__ import annotations

import errno
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

from ptttool import __version__
from ptttool.cli import commands
from ptttool.cli.app import app
from ptttool.cli.terminal.talk import PrintedError, json_text, say, warn
from ptttool.documents import ErrorDocument
from ptttool.errors import InputError, InterruptedByUserError, OutputError, PlugInError, PtttoolError, UsageError, WorkersError
from ptttool.registry import PlugIns
from ptttool.wording import clean

# Largest number of characters of an error message that are shown; a quoted part of it may have any length.
LONGEST = 2000

PLUG_INS = PlugIns("command", "ptttool.commands")


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"ptttool {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)] = False,
) -> None:
    """Handle the options before the command."""


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
    built_in = {module.name for module in pkgutil.iter_modules(commands.__path__)}
    wanted = arguments[0] if arguments else None
    if wanted in built_in:
        importlib.import_module(f"{commands.__name__}.{wanted}")
        return []
    if wanted is not None and wanted in PLUG_INS.names():
        _load_plug_in(wanted)
        return []
    for name in built_in:
        importlib.import_module(f"{commands.__name__}.{name}")
    problems = PLUG_INS.clashes(built_in)
    for name in PLUG_INS.names():
        if name not in built_in:
            try:
                _load_plug_in(name)
            except PlugInError as error:
                problems.append(error)
    return problems


def _load_plug_in(name: str) -> None:
    """Import a command of another package; a plain function or a ``typer.Typer`` gets the name of its entry point."""
    loaded = PLUG_INS.load(name)
    if name in _registered():
        return
    if isinstance(loaded, typer.Typer):
        app.add_typer(loaded, name=name)
    elif inspect.isfunction(loaded):
        app.command(name)(loaded)
    else:
        raise PLUG_INS.registers_nothing(name)


def _registered() -> set[str | None]:
    return {command.name for command in app.registered_commands} | {str(group.name) for group in app.registered_groups}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        for problem in load_commands(arguments):
            if "_PTTTOOL_COMPLETE" not in os.environ:  # a shell that completes a line shows nothing else
                warn(clean(problem.message))
        command = typer.main.get_command(app)
        result = command.main(arguments, prog_name="ptttool", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except PtttoolError as error:
        return _report(error, arguments)
    except PrintedError as printed:
        return _report(printed.error)
    except TyperException as error:
        return _report_usage(error, arguments)
    except MemoryError:
        return _report(WorkersError("not enough memory", hint="use fewer --jobs or fewer columns", code="no-memory"), arguments)
    except KeyboardInterrupt:
        return _report(InterruptedByUserError("interrupted"), arguments)
    except SystemExit as leaving:
        # On a closed pipe, typer wraps standard output and rich redirects it to the null device; both exit with 1.
        if type(sys.stdout).__name__ == "PacifyFlushWrapper" or isinstance(leaving.__context__, BrokenPipeError):
            return _closed_pipe()
        return leaving.code if isinstance(leaving.code, int) else 1
    except BrokenPipeError:
        return _closed_pipe()
    except OSError as error:
        if error.errno == errno.EPIPE:
            return _closed_pipe()
        return _report(_from_os_error(error), arguments)


def _closed_pipe() -> int:
    """Return exit code 0 if the reader of standard output has ended (``| head``), and make Python's flush at exit succeed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _from_os_error(error: OSError) -> PtttoolError:
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG):
        whole = error.filename is not None and not Path(error.filename).exists()
        return OutputError(f"{error.filename or 'standard output'}: {reason}", hint="no incomplete file was left behind" if whole else None)
    return InputError(str(error.filename or "input"), reason)


def _report(error: PtttoolError, arguments: Sequence[str] = ()) -> int:
    """Write the error and its hint to standard error, with ``--json`` also as a document to standard output; return the exit code."""
    if _wants_json(arguments):
        _write_json_error(error)
    message = clean(error.message)
    say(f"ptttool: error: {message if len(message) <= LONGEST else message[:LONGEST] + '…'}")
    if error.hint:
        say(f"ptttool: hint: {clean(error.hint)}")
    return error.exit_code


def _report_usage(error: TyperException, arguments: Sequence[str]) -> int:
    message = error.format_message()
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError" and context is not None:
        sys.stderr.write(context.get_help() + "\n")
        return 2
    path = context.command_path if context is not None else "ptttool"
    return _report(UsageError(message, hint=f"see '{path} --help'"), arguments)


def _wants_json(arguments: Sequence[str]) -> bool:
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in ours


def _write_json_error(error: PtttoolError) -> None:
    try:
        sys.stdout.write(json_text(ErrorDocument.of(error)))
        sys.stdout.flush()
    except OSError:  # a closed or full standard output must not hide the error
        return
