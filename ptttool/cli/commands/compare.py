"""``ptttool compare``: recordings of two sides, and in what these differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from ptttool.cli.app import JsonOption, app
from ptttool.cli.help.about import About, Example, Stage
from ptttool.cli.help.commands import Command
from ptttool.cli.help.stray import check_quotes
from ptttool.cli.options import analyzing, reading
from ptttool.cli.options import output as out
from ptttool.cli.options.given import refuse_beside
from ptttool.cli.terminal.talk import print_json, warn
from ptttool.documents import ErrorBody
from ptttool.errors import UsageError

_SIDES = "ptttool compare A1 A2 A3 --to B1 B2 B3"
EXAMPLES = (
    Example("ptttool compare before.data after.data", "Before and after a change: how the two recordings differ."),
    Example(
        "ptttool compare before1.data before2.data --to after1.data after2.data",
        "Several recordings of each side: with enough of them, a verdict.",
    ),
)


class _WithSides(Command):
    """The command, with an option ``--to`` that takes all words up to the next option."""

    about = About(Stage.READ, 50, EXAMPLES)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line."""
        return super().parse_args(ctx, list(_each_with_its_option(args)))


def _each_with_its_option(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line, with ``--to`` before each recording behind it."""
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        if word == "--":
            yield from words[at - 1 :]
            return
        if word.partition("=")[0] != "--to":
            yield word
            continue
        behind = [word[len("--to=") :]] if "=" in word else []
        end = next((stop for stop in count(at) if stop == len(words) or (words[stop].startswith("-") and words[stop] != "-")), at)
        behind += words[at:end]
        if not behind:
            raise UsageError("--to needs a value: --to B...", hint=f"such as: {_SIDES}", code="missing-value", option="--to")
        if behind[0] in analyzing.FORMS:  # what follows it stands for itself
            behind, end = behind[:1], at if "=" in word else at + 1
        at = end
        yield from (f"--to={each}" for each in behind)


@app.command("compare", cls=_WithSides)
def compare(
    context: typer.Context,
    files: Annotated[list[str], typer.Argument(metavar="A...", help="The recordings before the change, or folders of them.")],
    where: out.WhereOption = None,
    parts: Annotated[
        int, typer.Option("--parts", metavar="N", min=8, max=512, help="Parts that each recording is cut into, where each side has one.")
    ] = 32,
    timing: reading.Time = reading.Time(),
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to",
            metavar="B...",
            help="The recordings after the change, up to the next option. One of the words text, md and json says how results are shown "
            "instead; a recording of that name is written ./md.",
        ),
    ] = None,
    input: reading.TlpInput = reading.TlpInput(),
    work: reading.Work = reading.Work(),
    json: JsonOption = False,
    origin: reading.Origin = reading.Origin(),
) -> None:
    """Compare recordings of two sides, and say in what they differ.

    The recording is the unit: each measure, such as the size of payloads, the share of a class, the rate of data or the latency, has one
    value of each recording. An exact rank test says whether the sides differ, corrected for the number of measures; the shift stands beside
    it with its interval. Otherwise: no difference found. Where there are too few recordings to find any, there is no verdict, but the
    number that is needed. Record both sides in turns: what changes with time then meets both. 'ptttool sweep' does that by itself.

    One recording of each side says nothing of what differs from one recording to the next: 'ptttool compare A B' describes both, with the
    spread of equal parts of each.

    Warnings say why recordings may not be comparable: other formats, directions, filters, lengths, or signs of loss. A damaged recording
    is compared as far as it can be read; the exit code is then 6.
    """
    from ptttool.api.analyses import sides_of
    from ptttool.cli.recordings import Recordings, end_with, first_of
    from ptttool.cli.views.shown.results import ResultView
    from ptttool.pipeline.workers.pool import WORTH_AN_ADDER

    check_quotes(where, [*files, *(to or ())])
    shape, before, after = _meant(files, to or [])
    form = analyzing.form_of(shape, json=json)
    first, second = sides_of(before, after)
    paths = [*first, *second]
    if len(paths) > 2:
        refuse_beside("several recordings of a side", context, refused=("parts",))
    elif all(Path(path).exists() for path in paths) and Path(paths[0]).samefile(paths[1]):
        warn("both are one file: it is compared with itself")
    with work.workers(paths, WORTH_AN_ADDER) as workers:
        read = Recordings(reading.request_of(paths[0], reading.Protocol(), input), workers, origin, where, timing.options)
        comparison, failures = read.comparison(first, second, parts)
    damage = first_of(failures)
    if form == "json":
        print_json(replace(comparison, error=None if damage is None else ErrorBody.of(damage)))
    else:
        ResultView(form == "md", None, analyzing.PAGE).show(comparison, (), None)
    end_with([damage], is_printed=form == "json")


def _meant(files: Sequence[str], to: Sequence[str]) -> tuple[str | None, Sequence[str], Sequence[str]]:
    """Return how results are shown, and the recordings of both sides, from the words on the command line and those behind ``--to``."""
    shape = next((word for word in reversed(to) if word in analyzing.FORMS), None)
    after = [word for word in to if word not in analyzing.FORMS]
    if len(files) == 2 and len(after) == 1 and after[0].isalnum() and not Path(after[0]).exists():
        return after[0], files[:1], files[1:]  # no recording: a form that there is not
    if after:
        return shape, files, after
    if len(files) == 1:
        raise UsageError("B is missing", hint=f"such as: {EXAMPLES[0].line}", code="missing-argument", missing=["B"])
    if len(files) > 2:
        raise UsageError(
            f"{len(files)} recordings, and nothing says which of them are of the other side", hint=f"such as: {_SIDES}", code="which-side"
        )
    return shape, files[:1], files[1:]
