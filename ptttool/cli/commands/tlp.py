"""``ptttool tlp``: one TLP header given as words, such as an AER log line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import JsonOption, app
from ptttool.cli.terminal.talk import clean, note, print_json, print_line, warn
from ptttool.errors import UsageError

if TYPE_CHECKING:
    from ptttool.tlp.header import Header

# What stands before the words in dmesg ("TLP Header: ") and lspci ("HeaderLog: "); the words go on to the line's end.
_LABEL = re.compile(r".*(?:TLP Header|HeaderLog|Header Log)[^:]*:", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r"(?:0[xX])?([0-9a-fA-F]{1,8})")


def words_of(texts: Sequence[str]) -> list[int]:
    """The words of a header, typed one by one or pasted as a line of a log; all hexadecimal, ``0x`` or not."""
    line = " ".join(texts)
    if re.search(r"\(Flit\)", line, re.IGNORECASE):
        raise UsageError("this is a header in flit mode: its layout is another one, which ptttool does not know", code="flit-header")
    label = _LABEL.match(line)
    line = line if label is None else line[label.end() :]
    words = []
    for text in re.split(r"[\s,]+", line.strip()):
        match = _WORD.fullmatch(text)
        if match is None:
            raise UsageError(
                f"{text!r} is no 32-bit word in hexadecimal" if text else "no words are given",
                hint="give 3 or 4 words, such as: 60000001 01001e0f 00000004 02810040",
                code="bad-header",
            )
        words.append(int(match[1], 16))
    return words


@app.command("tlp")
def tlp(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORD...",
            help="3 or 4 header words in hexadecimal, the most significant bit first as in the specification: one by one, or a pasted "
            "line of a log (TLP Header: …, HeaderLog: …).",
        ),
    ],
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="WORD", help="The TLP prefix before the header.", show_default=False)
    ] = None,
    pattern: Annotated[
        str,
        typer.Option(
            "--pattern", metavar="<legacy|v1>", help="v1: spare header bits hold the fields of PCIe 6 parts, as PTT records them."
        ),
    ] = "legacy",
    json: JsonOption = False,
) -> None:
    """Decode one TLP header given as words, such as an AER log line.

    Every field that a TLP of this kind has is shown with its meaning, and everything that a well-formed header would not have.
    """
    from ptttool.capture.event.terms import PATTERNS
    from ptttool.tlp.document import TlpDocument
    from ptttool.tlp.header import decode_header

    if pattern not in PATTERNS:
        raise UsageError(f"no pattern is called {pattern!r}", hint="known: legacy, v1")
    line, _, behind = " ".join(words).partition("E-E Prefixes:")
    prefixes = words_of([prefix or behind]) if prefix is not None or behind.strip() else []
    if len(prefixes) > 1:
        note("of several prefixes the first is decoded")
    header = decode_header(words_of([line]), pattern=PATTERNS[pattern], prefix=prefixes[0] if prefixes else None)
    if json:
        print_json(TlpDocument.of(header))
        return
    _print(header)
    if not any(header.words):
        note("all words are zero: so looks an AER log that holds no header")
    for text in header.oddities:
        warn(clean(text))


def _print(header: Header) -> None:
    width = max(len(name) for name in header.fields) + 2
    for name, text in header.texts():
        meaning = header.meaning.get(name)
        print_line(f"{name:<{width}}{text}" + (f"  ({meaning})" if meaning else ""))
