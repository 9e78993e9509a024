"""The plan: which commands are measured, what they are compared with, and which ratios are wanted."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.commands import Command
from bench.inputs import PTTTOOL, Input, input_name

MIB, GIB = 1 << 20, 1 << 30
FORMATS = ("8dw", "4dw")
# Largest peak memory, whatever the size of the recording.
PEAK_LIMIT = 400 * MIB
REQUESTER = "01:00.1"
# Parquet writers of bench/writers.py, the project's own first; and TLPs of the table that they write.
WRITERS, TABLE_ROWS = ("own", "polars", "pyarrow", "pyarrow-tuned"), 1 << 21
HERE = Path(__file__).parent
# Analyses, and how many times as fast as perf's text each is to be. Those that match requests with completions have more to do.
ANALYSES = {
    **dict.fromkeys(("traffic", "payload", "errors", "bandwidth", "addresses", "attributes", "mmio"), 20),
    **dict.fromkeys(("latency", "outstanding", "io"), 12),
}
# Of these, those that are measured on large recordings, too: waits of reads, and phases of commands.
LARGE_ANALYSES = ("latency", "io")


@dataclass(frozen=True)
class Sizes:
    """Bytes of trace data of the three recordings of each format."""

    small: int = 256 * MIB
    middle: int = GIB
    large: int = 4 * GIB


FULL, QUICK = Sizes(), Sizes(MIB, 2 * MIB, 4 * MIB)


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Parameters
    ----------
    name : str
        Its name.
    work : str
        What is measured, for people.
    subject, baseline : str
        Names of the commands that are compared.
    ratio : str
        ``faster``: the baseline's seconds by the subject's, with a lower limit. ``slower``: the inverse, with an upper limit.
    wanted : float or None
        The limit.
    scale : float
        Factor for the baseline's seconds.
    peak_limit : int or None
        Limit for the peak memory in bytes.
    """

    name: str
    work: str
    subject: str
    baseline: str | None = None
    ratio: str = "faster"
    wanted: float | None = None
    scale: float = 1.0
    peak_limit: int | None = PEAK_LIMIT


def size_words(size: int) -> str:
    """Format a size: ``256 MiB``, ``4 GiB``."""
    return f"{size // GIB} GiB" if size % GIB == 0 else f"{size // MIB} MiB"


def table_of(folder: Path, form: str, size: int) -> Path:
    """Return the path of the table that Parquet writers are measured with."""
    return folder / f"{input_name(form, size)}-table.parquet"


@dataclass(frozen=True)
class Plan:
    """Commands by name, and the rows that compare them."""

    commands: dict[str, Command]
    rows: tuple[Row, ...]


def plan(sizes: Sizes, inputs: dict[str, Input], folder: Path, only: str | None = None) -> Plan:
    """Return all rows, or those with ``only`` in their name, and the commands that they need."""
    commands = {command.name: command for command in _commands(sizes, inputs, folder)}
    rows = [row for row in _rows(sizes) if only is None or only in row.name]
    needed = {name for row in rows for name in (row.subject, row.baseline)}
    return Plan({name: command for name, command in commands.items() if name in needed}, tuple(rows))


def _commands(sizes: Sizes, inputs: dict[str, Input], folder: Path) -> Iterator[Command]:
    """Yield the commands in the order of a round: commands that read the same file follow one another."""

    def path(form: str, size: int) -> str:
        name = input_name(form, size)
        return str(inputs[name].path) if name in inputs else str(folder / f"{name}.data")

    for form in FORMATS:
        small, middle, large = (path(form, size) for size in (sizes.small, sizes.middle, sizes.large))
        name = input_name(form, sizes.small)
        yield Command(f"perf-{form}", ("perf", "report", "-D", "-i", small), name, slow=True)
        yield Command(f"info-{form}", (*PTTTOOL, "info", small), name)
        parquet = str(folder / f"{form}.parquet")
        yield Command(f"parquet-{form}", (*PTTTOOL, "decode", small, "--to", "parquet", "-o", parquet, "--force"), name)
        for kind in ("pcapng", "perfetto"):
            words = (*PTTTOOL, "decode", small, "-o", str(folder / f"{form}.{kind}"), "--to", kind, "--force", "--time-model", "counter")
            yield Command(f"{kind}-{form}", words, name)
        for kind in ("perf", "csv", "jsonl"):
            yield Command(f"{kind}-text-{form}", (*PTTTOOL, "decode", small, "--to", kind), name)
        condition = f"requester = '{REQUESTER}'"
        yield Command(f"where-{form}", (*PTTTOOL, "decode", small, "--where", condition, "--limit", "100"), name)
        for analysis in ANALYSES:
            yield Command(f"analyze-{analysis}-{form}", (*PTTTOOL, "analyze", analysis, small, "--json"), name)
        yield Command(f"report-{form}", (*PTTTOOL, "report", small, "-o", str(folder / f"{form}.html"), "--force"), name)
        raw = str(folder / f"{name}.raw")
        for chosen in ("core", "default"):
            yield Command(f"columns-{chosen}-{form}", (sys.executable, str(HERE / "columns.py"), raw, form, chosen), name, reports=True)
            yield Command(f"columns-c-{chosen}-{form}", (str(folder / "columns"), raw, form, chosen), name, reports=True)
        for writer in WRITERS:
            output = str(folder / f"{name}-{writer}.parquet")
            words = (sys.executable, str(HERE / "writers.py"), str(table_of(folder, form, sizes.small)), writer, output)
            yield Command(f"writer-{writer}-{form}", words, name, reports=True)
        yield Command(f"info-middle-{form}", (*PTTTOOL, "info", middle), input_name(form, sizes.middle))
        name = input_name(form, sizes.large)
        for jobs in ("1", "2"):
            yield Command(f"info-jobs-{jobs}-{form}", (*PTTTOOL, "info", large, "--jobs", jobs), name)
        for analysis in LARGE_ANALYSES:
            yield Command(f"analyze-{analysis}-large-{form}", (*PTTTOOL, "analyze", analysis, large, "--json"), name, rounds=1)
        page = str(folder / f"{form}-large.html")
        yield Command(f"report-large-{form}", (*PTTTOOL, "report", large, "-o", page, "--force"), name, rounds=1)
        words = (*PTTTOOL, "decode", large, "--to", "parquet", "-o", str(folder / f"{form}-large.parquet"), "--force")
        yield Command(f"parquet-large-{form}", words, name, rounds=1)
        for jobs in ("1", "2"):
            yield Command(f"parquet-jobs-{jobs}-{form}", (*words, "--jobs", jobs), name, rounds=1)
    python = sys.executable
    yield Command("help", (*PTTTOOL, "--help"))
    yield Command("list", (*PTTTOOL, "list", "--json", "--demo"))
    yield Command("typer", (python, "-c", "import typer"))


def _rows(sizes: Sizes) -> Iterator[Row]:
    """Yield the rows of the table in order."""
    small, middle, large = (size_words(size) for size in (sizes.small, sizes.middle, sizes.large))
    for form in FORMATS:
        perf, shown = f"perf-{form}", form.upper()
        yield Row(f"perf-{form}", f"perf report -D, {small} {shown}", perf, peak_limit=None)
        yield Row(f"info-{form}", f"info, {small} {shown}", f"info-{form}", perf, wanted=50)
        scale = sizes.middle / sizes.small
        yield Row(f"info-middle-{form}", f"info, {middle} {shown}", f"info-middle-{form}", perf, wanted=120, scale=scale)
        yield Row(f"parquet-{form}", f"decode to Parquet, all columns, {small} {shown}", f"parquet-{form}", perf, wanted=20)
        yield Row(f"perf-text-{form}", f"decode to perf's text, {small} {shown}", f"perf-text-{form}", perf, wanted=8)
        yield Row(f"csv-{form}", f"decode to CSV, default columns, {small} {shown}", f"csv-text-{form}", perf, wanted=5)
        yield Row(f"jsonl-{form}", f"decode to JSON lines, {small} {shown}", f"jsonl-text-{form}", perf, wanted=3)
        yield Row(f"pcapng-{form}", f"decode to pcapng, {small} {shown}", f"pcapng-{form}", perf, wanted=5)
        yield Row(
            f"perfetto-{form}", f"decode to Perfetto, the first 100,000 transactions, {small} {shown}", f"perfetto-{form}", perf, wanted=5
        )
        yield Row(f"where-{form}", f"decode 100 TLPs of one requester, {small} {shown}", f"where-{form}", perf, wanted=50)
        for analysis, wanted in ANALYSES.items():
            command = f"analyze-{analysis}-{form}"
            yield Row(command, f"analyze {analysis}, {small} {shown}", command, perf, wanted=wanted)
        yield Row(f"report-{form}", f"report, all analyses at once, {small} {shown}", f"report-{form}", perf, wanted=8)
        scale = sizes.large / sizes.small
        for kind, words in (
            *((f"analyze-{name}", f"analyze {name}") for name in LARGE_ANALYSES),
            ("report", "report, all analyses at once"),
        ):
            work = f"{words}, {large} {shown}, by the size against {small}"
            yield Row(f"{kind}-large-{form}", work, f"{kind}-large-{form}", f"{kind}-{form}", ratio="slower", wanted=1.1, scale=scale)
    for form in FORMATS:
        shown = form.upper()
        yield Row(
            f"jobs-{form}", f"info --jobs 2 against --jobs 1, {large} {shown}", f"info-jobs-2-{form}", f"info-jobs-1-{form}", wanted=1.7
        )
        work = f"decode to Parquet --jobs 2 against --jobs 1, {large} {shown}"
        yield Row(f"parquet-jobs-{form}", work, f"parquet-jobs-2-{form}", f"parquet-jobs-1-{form}", wanted=1.7)
        yield Row(f"parquet-large-{form}", f"decode to Parquet, all columns, {large} {shown}", f"parquet-large-{form}")
        for chosen, words in (("core", "eight"), ("default", "all default")):
            yield Row(
                f"columns-{chosen}-{form}",
                f"decode to {words} columns in process against C, {small} {shown}",
                f"columns-{chosen}-{form}",
                f"columns-c-{chosen}-{form}",
                ratio="slower",
                wanted=2.5,
                peak_limit=None,
            )
    for form in FORMATS:
        own = f"writer-own-{form}"
        for writer in WRITERS[1:]:
            work = f"Parquet writer, CPU time of {writer} against ours, all columns, {form.upper()}"
            yield Row(f"writer-{writer}-{form}", work, own, f"writer-{writer}-{form}", wanted=1, peak_limit=None)
    yield Row("help", "ptttool --help against import typer", "help", "typer", ratio="slower", wanted=2.5)
    yield Row("list", "ptttool list --json against import typer", "list", "typer", ratio="slower", wanted=3)
