"""``ptttool compare``: two recordings side by side, and in what they differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from ptttool.cli.app import JsonOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.options import analyzing, reading
from ptttool.cli.options import output as out
from ptttool.cli.terminal.talk import print_json, warn
from ptttool.documents import ErrorBody

EXAMPLES = (Example("ptttool compare before.data after.data", "Before and after a change: in what the two recordings differ."),)


@app.command("compare", stage=Stage.READ, rank=50, examples=EXAMPLES)
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="The recording before the change.", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="B", help="The recording after it.", show_default=False)],
    where: out.WhereOption = None,
    parts: Annotated[int, typer.Option("--parts", metavar="N", min=8, max=512, help="Parts that each recording is cut into.")] = 32,
    timing: reading.Time = reading.Time(),
    to: analyzing.ToOption = None,
    input: reading.TlpInput = reading.TlpInput(),
    work: reading.Work = reading.Work(),
    json: JsonOption = False,
    origin: reading.Origin = reading.Origin(),
) -> None:
    """Compare two recordings, and say in what they differ.

    Each recording is cut into equal parts by the numbers of its records. A measure, such as the size of payloads, the share of a class or
    the rate of data, counts as different if a rank test over the parts says so, corrected for the number of measures, and the effect is at
    least medium. Otherwise: no difference found. Parts of one recording depend on each other, and one recording of each side says nothing
    of what differs from one recording to the next: a difference is no proof that a change made it. 'ptttool sweep' tries a change many
    times.

    Warnings say why recordings may not be comparable: other formats, directions, filters, lengths, or signs of loss. A damaged recording
    is compared as far as it can be read; the exit code is then 6.
    """
    from ptttool.cli.recordings import Recordings, end_with, first_of
    from ptttool.cli.views.shown.results import ResultView
    from ptttool.pipeline.workers.pool import WORTH_AN_ADDER

    form = analyzing.form_of(to, json=json)
    paths = (first, second)
    if all(Path(path).exists() for path in paths) and Path(first).samefile(second):
        warn("both are one file: it is compared with itself")
    with work.workers(paths, WORTH_AN_ADDER) as workers:
        read = Recordings(reading.request_of(first, reading.Protocol(), input), workers, origin, where, timing.options)
        comparison, failures = read.comparison(paths, parts)
    damage = first_of(failures)
    if form == "json":
        print_json(replace(comparison, error=None if damage is None else ErrorBody.of(damage)))
    else:
        ResultView(form == "md", None, analyzing.PAGE).show(comparison, (), None)
    end_with([damage], is_printed=form == "json")
