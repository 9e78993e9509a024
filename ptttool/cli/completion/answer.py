"""Answer a shell that asks how a command line may go on."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ptttool.cli.completion.values import Asked, of_kind
from ptttool.cli.completion.words import Command, Parameter, command_of

VARIABLE: Final = "_PTTTOOL_COMPLETE"
"""Set by the scripts of the shells: bash, zsh or fish for an answer, source_bash and so on for the script."""
SHELLS: Final = ("bash", "zsh", "fish")
# Processor time: a large archive that is named by --sysfs is not worth a shell that does not answer.
MOST_SECONDS: Final = 2.0
# Other values would be words of a command to the shell, or more than one word.
_SAFE: Final = re.compile(r"[\w.:,=@%+/\-]+")


class _TooLongError(BaseException):
    """No error of what is read: nothing that looks for those may take it."""


class Answer(NamedTuple):
    """How a command line may go on.

    Parameters
    ----------
    found : list of (str, str)
        Values for the word at the cursor, with help.
    instead : str
        What the shell completes itself: ``files``, ``commands``; empty for nothing.
    """

    found: list[tuple[str, str]]
    instead: str = ""


def answer(words: Sequence[str]) -> Answer:
    """Return how the last of the words behind ``ptttool`` may go on.

    Parameters
    ----------
    words : sequence of str
        The words up to the cursor; the last one may be empty.
    """
    *before, last = words or [""]
    state = _State()
    for word in before:
        state.take(word)
    command = state.command
    if command is None:
        return Answer([], "files")
    if state.awaits is not None:
        return _of_kind(state, state.awaits.kind, last)
    if last.startswith("--") and "=" in last and not state.ended:
        name, _, start = last.partition("=")
        option = command.option(name)
        if option is None or not option.kind:
            return Answer([])
        reply = _of_kind(state, option.kind, start)
        return Answer([(f"{name}={value}", text) for value, text in reply.found], reply.instead)
    if last.startswith("-") and not state.ended:
        return Answer(_starting(last, _options(command, state)))
    if command.commands:
        from importlib.metadata import entry_points

        plug_ins = () if state.path else entry_points(group="ptttool.commands")
        return Answer(_starting(last, [*command.commands.items(), *((one.name, "") for one in plug_ins)]))
    kind = state.kind()
    return Answer([]) if kind is None else _of_kind(state, kind, last)


class _State:
    """What the words up to now say."""

    def __init__(self) -> None:
        self.path: tuple[str, ...] = ()
        self.command: Command | None = command_of(())
        self.awaits: Parameter | None = None
        self.ended = False
        self.given: dict[str, str] = {}
        self.arguments: list[str] = []

    def take(self, word: str) -> None:
        """Take a word."""
        if self.awaits is not None:
            self.given |= dict.fromkeys(self.awaits.names, word)
            self.awaits = None
        elif self.command is None:
            return
        elif self.ended:
            self.arguments.append(word)
        elif word == "--":
            self.ended = True
        elif word.startswith("-") and word != "-":
            self._option(word)
        elif self.command.commands:
            self.path = (*self.path, word)
            self.command = command_of(self.path)
        else:
            self.arguments.append(word)
            self.ended = not self.command.interspersed

    def _option(self, word: str) -> None:
        assert self.command is not None
        name, equals, value = word.partition("=")
        option = self.command.option(name)
        if option is None and not word.startswith("--"):  # -n20, or switches together
            option, equals, value = self.command.option(word[:2]), word[2:], word[2:]
        if option is None:
            return
        if option.kind and not equals:
            self.awaits = option
        else:
            self.given |= dict.fromkeys(option.names, value)

    def kind(self) -> str | None:
        """Return what the next argument is."""
        assert self.command is not None
        kinds = [one.kind for one in self.command.arguments]
        if self.path == ("tune", "set") and "--all" in self.given:
            return "assignment"
        at = len(self.arguments)
        if at < len(kinds):
            kind = kinds[at]
            return kind if kind != "command" or at == 0 else "file"
        if not kinds or not self.command.arguments[-1].many:
            return None
        return "file" if kinds[-1] == "command" else kinds[-1]


def _of_kind(state: _State, kind: str, start: str) -> Answer:
    if kind == "file":
        return Answer([], "files")
    if kind == "command":
        return Answer([], "commands" if not start.startswith((".", "/", "~")) else "files")
    kinds = [one.kind for one in state.command.arguments] if state.command is not None else []
    named = (word for word, one in zip(state.arguments, kinds, strict=False) if one == "device")
    device = state.given.get("--device") or next(named, None)
    arguments = state.arguments if kind in ("attribute", "assignment") else ()
    asked = Asked(start, arguments, state.given.get("--sysfs"), "--demo" in state.given, device)
    return Answer(_starting(start, of_kind(kind, asked)), "files" if kind == "profile" else "")


def _options(command: Command, state: _State) -> Iterable[tuple[str, str]]:
    for option in command.options:
        if option.many or option.names[0] not in state.given:
            for name in option.names:
                yield name, option.help


def _starting(start: str, values: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Keep values that begin so, each once; a short option only where a single hyphen is there."""
    kept = {value: text for value, text in values if value.startswith(start) and _SAFE.fullmatch(value)}
    if start in ("", "-") and any(name.startswith("--") for name in kept):
        kept = {name: text for name, text in kept.items() if name.startswith("--") or len(name) == 2}
    return list(kept.items())


def main(shell: str, arguments: Sequence[str]) -> int:
    """Print the answer for a shell: what it completes itself, then a value a line, with help behind a tab."""
    if shell.startswith("source_"):
        from ptttool.cli.completion.scripts import script_of

        sys.stdout.write(script_of(shell.removeprefix("source_")))
        return 0
    if shell not in SHELLS:
        return 0
    raw = ""
    words = list(arguments)
    if shell == "bash":
        from ptttool.cli.completion.line import command_line, split

        words, raw = split(os.environ.get("_PTTTOOL_LINE", ""))
        words = command_line(words)
    signal.signal(signal.SIGVTALRM, _stop)
    # Again and again: Python drops an exception that comes while it closes a file that nobody holds any more.
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS, 0.1)
    try:
        pairs, instead = answer(words)
    except _TooLongError:
        return 1
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    values = [value for value, _ in pairs]
    if shell == "bash":
        from ptttool.cli.completion.line import without_start

        values = without_start(values, raw, os.environ.get("_PTTTOOL_BREAKS", ""))
    joins = bool(pairs) and all(value.endswith(("=", ",")) for value, _ in pairs)
    lines = [f"{instead}{' nospace' if joins else ''}"]
    for value, (_, text) in zip(values, pairs, strict=True):
        # Help as it may go to a terminal: on one line, without control characters.
        shown = " ".join("".join(character if character.isprintable() else " " for character in text).split())
        lines.append(value if shell == "bash" else f"{value}\t{shown}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _stop(*_: object) -> None:
    raise _TooLongError
