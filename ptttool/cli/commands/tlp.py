"""``ptttool tlp``: one TLP header given as DWs, such as an AER log line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ptttool.cli.app import JsonOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.terminal.talk import note, print_json, print_line, warn
from ptttool.errors import UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.tlp.header import Header


EXAMPLES = (
    Example("ptttool tlp 04000001 0000220f 01070000", "A configuration read, from the header log of an AER line."),
    Example("ptttool tlp 'TLP Header: 04000001 0000220f 01070000 00000000'", "The line as the kernel prints it."),
)


@app.command("tlp", stage=Stage.READ, rank=70, examples=EXAMPLES)
def tlp(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="DW...",
            help="3 or 4 header DWs in hexadecimal, the most significant bit first as in the specification: one by one, or a pasted "
            "line of a log (TLP Header: …, HeaderLog: …).",
        ),
    ],
    prefix: Annotated[str | None, typer.Option("--prefix", metavar="DW", help="The TLP prefix before the header.")] = None,
    pattern: Annotated[
        str,
        typer.Option(
            "--pattern", metavar="<legacy|v1>", help="v1: spare header bits hold the fields of PCIe 6 parts, as PTT records them."
        ),
    ] = "legacy",
    json: JsonOption = False,
) -> None:
    """Decode one TLP header given as DWs, such as an AER log line.

    Every field that a TLP of this kind has is shown with its meaning, and everything that a well-formed header does not have.
    """
    from ptttool.capture.event.terms import PATTERNS, Pattern
    from ptttool.tlp.header import decode_header
    from ptttool.tlp.log import parse_dws, parse_log

    if pattern not in PATTERNS:
        raise UsageError(f"unknown pattern {pattern!r}", hint="known: legacy, v1", code="unknown-pattern")
    logged = parse_log(" ".join(words))
    prefixes = logged.prefixes if prefix is None else parse_dws(prefix)
    if len(prefixes) > 1:
        note("of several prefixes the first is decoded")
    header = decode_header(logged.words, pattern=PATTERNS[Pattern(pattern)], prefix=prefixes[0] if prefixes else None)
    if json:
        print_json(header)
        return
    _print(header)
    if not any(header.words):
        note("all DWs are zero: an AER log that holds no header looks like this")
    for diagnostic in header.diagnostics:
        warn(clean(diagnostic.message))


def _print(header: Header) -> None:
    width = max(len(name) for name in header.fields) + 2
    for name, text in header.texts():
        meaning = header.meaning.get(name)
        print_line(f"{name:<{width}}{text}" + (f"  ({meaning})" if meaning else ""))
