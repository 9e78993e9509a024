"""The crash report: what developers need to mend a defect, without the secrets of the command line."""

from __future__ import annotations

import platform
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, requires, version

from ptttool._version import __version__
from ptttool.files.atomic import output_file

LEFT_OUT = "[left out]"
_OWNER_ONLY = 0o600
# Commands with another command at their end, which may hold passwords.
_WITH_COMMAND = ("trace", "event")
# User and password of an address, and what stands behind its question mark.
_CREDENTIALS = re.compile(r"(?<=://)[^/\s'\"@]*@")
_QUERY = re.compile(r"(?<=://)([^?\s'\"]*)\?[^\s'\"]*")


def write_report(path: str, error: BaseException, arguments: Sequence[str], others: Sequence[BaseException] = ()) -> None:
    """Write the report about an exception to a new file that only its owner can read.

    Parameters
    ----------
    path : str
        The file.
    error : BaseException
        The exception.
    arguments : sequence of str
        The command line.
    others : sequence of BaseException
        Exceptions in threads and finalizers.

    Raises
    ------
    OutputError, AccessError, OSError
        The file exists, or cannot be written.
    """
    text = report_text(error, arguments, others)
    with output_file(path, mode=_OWNER_ONLY) as file:
        file.write(text.encode(errors="backslashreplace"))


def report_text(error: BaseException, arguments: Sequence[str], others: Sequence[BaseException] = ()) -> str:
    """Return the text of the report."""
    shown, secrets = without_secrets(arguments)
    lines = [
        "ptttool crash report",
        "",
        f"ptttool   {__version__}",
        f"Python    {platform.python_version()} ({platform.python_implementation()}), {sys.platform} {platform.machine()}",
        f"kernel    {platform.release()}",
        f"packages  {', '.join(_packages())}",
        f"time      {datetime.now(UTC).isoformat(timespec='seconds')}",
        f"command   {' '.join(['ptttool', *shown])}",
        "",
        *traceback.format_exception(error),
    ]
    for other in others:
        lines += ["", "In a thread or a finalizer:", *traceback.format_exception(other)]
    text = "\n".join(line.rstrip("\n") for line in lines) + "\n"
    for secret in secrets:
        text = text.replace(secret, LEFT_OUT)
    return _CREDENTIALS.sub(f"{LEFT_OUT}@", _QUERY.sub(rf"\1?{LEFT_OUT}", text))


def without_secrets(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a command line into the part that a report shows, and words of a traced command that it must not show, the longest first."""
    words = list(arguments)
    end = words.index("--") + 1 if "--" in words else len(words)
    command = next((at for at, word in enumerate(words) if word in _WITH_COMMAND), None)
    if command is not None:
        end = min(end, _end_of_options(words, command + 1))
    hidden = words[end:]
    secrets = sorted({word for word in hidden if len(word) > 3}, key=len, reverse=True)
    return words[:end] + [LEFT_OUT] * bool(hidden), secrets


def _end_of_options(words: Sequence[str], start: int) -> int:
    """Return where the first word after a command stands that is neither an option nor its value."""
    flags = _flags(words[start - 1])
    if flags is None:
        return start
    at = start
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        at += 1 if "=" in words[at] or words[at] in flags else 2
    return min(at + (words[at : at + 1] == ["--"]), len(words))


def _flags(name: str) -> set[str] | None:
    """Return the options of a command that take no value; None if the command is not loaded."""
    from ptttool.cli.app import app

    command = app.tree.commands.get(name)
    if command is None:
        return None
    flags = [parameter for parameter in command.params if getattr(parameter, "is_flag", False)]
    return {"-h", "--help"}.union(*((*flag.opts, *flag.secondary_opts) for flag in flags))


def _packages() -> Iterator[str]:
    """Yield the packages that ptttool needs, with their versions."""
    try:
        needed = requires("ptttool") or []
    except PackageNotFoundError:  # run from its source
        needed = []
    for requirement in needed:
        match = re.match(r"[\w.-]+", requirement)
        if match is not None and "extra ==" not in requirement:
            try:
                yield f"{match[0]} {version(match[0])}"
            except PackageNotFoundError:
                yield f"{match[0]} missing"
