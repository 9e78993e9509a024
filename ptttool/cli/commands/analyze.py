"""``ptttool analyze``: analyses of recordings."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace

from ptttool.cli.app import JsonOption, app
from ptttool.cli.help.about import Example, Stage
from ptttool.cli.help.stray import check_quotes
from ptttool.cli.options import analyzing, reading
from ptttool.cli.options import output as out
from ptttool.cli.options.given import refuse_beside
from ptttool.cli.terminal.talk import note, print_diagnostic, print_json, print_labelled, warn
from ptttool.documents import ErrorBody, document
from ptttool.errors import PtttoolError, UsageError
from ptttool.wording import clean

if TYPE_CHECKING:
    from ptttool.api.analyses import Analyzed, AnalyzeDocument, AnalyzedRecordings, RecordingSums
    from ptttool.api.recording import Recording
    from ptttool.cli.recordings import Recordings
    from ptttool.cli.views.shown.results import ResultView

# Smallest number of bytes of trace for which one more process is started.
_LEAST_WORTH = 128 << 20


class NeedFacts(Struct, frozen=True):
    """Something that an analysis looks at, and the options of ``ptttool trace`` that bring it."""

    what: str
    options: str


class AnalysisFacts(Struct, frozen=True):
    """An analysis: its name, what it finds, the columns that it needs, and what has to be traced."""

    name: str
    meaning: str
    columns: Sequence[str]
    needs: Sequence[NeedFacts]


@document("analyze-list")
class AnalysesDocument(Struct, frozen=True):
    """The analyses that there are."""

    analyses: list[AnalysisFacts]


EXAMPLES = (
    Example("ptttool analyze --list", "What can be analyzed, and what has to be traced for it."),
    Example("ptttool analyze traffic,latency both.data", "Who moves how much, and how long reads take."),
    Example("ptttool analyze io nvme.data --to md", "Commands of NVMe drives, as Markdown."),
    Example("ptttool analyze io nvme.data --by queue", "With the kernel's events beside it: by queue, not by process."),
)


@app.command("analyze", stage=Stage.READ, rank=30, examples=EXAMPLES)
def analyze(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME[,NAME...]", help="The analyses; --list lists them."),
    ] = None,
    files: reading.RecordingsOrFolders = None,
    listing: Annotated[bool, typer.Option("--list", help="List the analyses and end.")] = False,
    where: out.WhereOption = None,
    timing: reading.Time = reading.Time(),
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", min=1, help="Rows of a table. By default 20 on a terminal, and all of them elsewhere."),
    ] = None,
    kernel: Annotated[
        Path | None,
        typer.Option(
            "--kernel",
            readable=False,
            metavar="FILE",
            help="io, mmio: the kernel's side of the recording, as 'ptttool trace --with nvme,block,mmio-stacks' records it. By default "
            "the file beside it: NAME.kernel.data of NAME.data.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="<process|queue|size>",
            help="io: by what commands of the kernel's side are summed up. By default by process. JSON has all three.",
        ),
    ] = None,
    to: analyzing.ToOption = None,
    protocol: reading.Protocol = reading.Protocol(),
    input: reading.Input = reading.Input(),
    work: reading.Work = reading.Work(),
    json: JsonOption = False,
    origin: reading.OriginOrFile = reading.OriginOrFile(),
) -> None:
    """Run analyses of recordings and show their results.

    An analysis sums the rows of a recording up, or looks for something in them. Other packages can add analyses. Several analyses, with
    commas between their names, read a recording once. What an analysis cannot see in a recording is said before its result, with the
    options of 'ptttool trace' that bring it.

    Several recordings are analyzed one after the other. Times of different recordings do not join: only analyses that count are then
    summed up, too. A damaged FILE gives the result for what could be read, and then the exit code 6.
    """
    from ptttool.api.analyses import with_folders
    from ptttool.cli.recordings import Recordings

    form = analyzing.form_of(to, json=json)
    if form == "json":
        refuse_beside("--json", context, refused=("top", "by"))
    if listing:
        refuse_beside("--list", context, takes=("listing", "to", "json"))
        _list(json=form == "json")
        return
    check_quotes(where, [each for each in (name, *(files or ())) if each is not None])
    if name is None or not (files or origin.demo):
        raise _missing(name)
    names = _names(name, files or ())
    named, shown = origin.files(context, files, hint="")
    paths = with_folders(named, print_diagnostic)
    options = _kernel_options(names, paths, kernel, by)
    with work.workers(paths, _worth(names)) as workers:
        request = reading.request_of(paths[0], protocol, input)
        read = Recordings(request, workers, origin, where, timing.options, options, details=True)
        _Job(names, read, form, top, shown).run(paths)


def _kernel_options(names: Sequence[str], paths: Sequence[str], kernel: Path | None, by: str | None) -> dict[str, dict[str, str]]:
    """Return the options of the analyses that are joined with the kernel's side.

    Raises
    ------
    UsageError
        They have no effect, or name one kernel's side for several recordings (code ``exclusive-options``).
    """
    options = {name: str(value) for name, value in (("kernel", kernel), ("by", by)) if value is not None}
    for name in options:
        users = ("io", "mmio") if name == "kernel" else ("io",)
        if not any(user in names for user in users):
            message = f"--{name} has an effect on {' and '.join(users)} only"
            raise UsageError(message, hint=f"leave out --{name}", code="exclusive-options")
    if kernel is not None and len(paths) > 1:
        hint = "leave it out: the file beside each recording is taken"
        raise UsageError("--kernel is of one recording, and there are several", hint=hint, code="exclusive-options")
    return {"io": options}


def _missing(name: str | None) -> UsageError:
    """Return the error for a command line without a name, without a file, or without both."""
    hint, code = "'ptttool analyze --list' lists the analyses", "missing-argument"
    if name is None:
        hint = f"such as: ptttool analyze latency nvme.data; {hint}"
        return UsageError("NAME and FILE are missing", hint=hint, code=code, missing=["NAME", "FILE"])
    if _is_file(name):
        kind = "folder" if Path(name).is_dir() else "file"
        hint = f"such as: ptttool analyze latency {clean(shlex.quote(name))}; {hint}"
        return UsageError(f"NAME is missing: {clean(name)} is a {kind}", hint=hint, code=code, missing=["NAME"])
    _names(name)
    hint = "a recording, or --demo for one that comes with ptttool"
    return UsageError("FILE is missing", hint=hint, code=code, missing=["FILE"])


def _is_file(name: str) -> bool:
    """Return whether a word names a file or a folder, and no analysis."""
    from ptttool.analyses.contract import ANALYSES

    return Path(name).exists() and name not in ANALYSES.names()


def _names(text: str, files: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names of a list; each counts once. Raises UsageError for an unknown analysis, and for `files` that are before it."""
    from ptttool.analyses.contract import ANALYSES

    if _is_file(text):
        analyses = [word for word in files if all(each in ANALYSES.names() for each in word.split(","))]
        meant = ["ptttool", "analyze", ",".join(analyses) or "latency", text, *(word for word in files if word not in analyses)]
        hint = f"{'' if analyses else 'such as: '}{clean(shlex.join(meant))}"
        raise UsageError(f"NAME comes before FILE, and {clean(text)} is a recording", hint=hint, code="name-first", suggestions=analyses)
    names = tuple(dict.fromkeys(each.strip() for each in text.split(",")))
    for each in names:
        ANALYSES.get(each)
    return names


def _worth(names: Sequence[str]) -> int:
    """Return the bytes of trace above which one more process pays for its start-up: several analyses have more to do."""
    from ptttool.analyses.contract import ANALYSES

    each = min(ANALYSES.get(name).worker_bytes for name in names)
    return max(each // len(names), _LEAST_WORTH)


def _list(*, json: bool) -> None:
    from ptttool.analyses.contract import ANALYSES

    for error in ANALYSES.broken():
        warn(clean(str(error)))
    analyses = [
        AnalysisFacts(each.name, each.meaning, each.columns, [NeedFacts(need.what, need.options) for need in each.needs])
        for each in ANALYSES
    ]
    if json:
        print_json(AnalysesDocument(analyses))
        return
    at = max(len(facts.name) for facts in analyses) + 2
    for facts in analyses:
        print_labelled(f"{facts.name} ", facts.meaning, at)
        if facts.columns:
            print_labelled("", f"of the columns {', '.join(facts.columns)}", at)
        for need in facts.needs:
            print_labelled("", f"{need.what}: ptttool trace {need.options}", at)


@dataclass
class _Job:
    """The options of the command."""

    names: tuple[str, ...]
    read: Recordings
    form: str
    top: int | None
    shown: Mapping[str, str]

    @cached_property
    def view(self) -> ResultView:
        """What shows the results to people."""
        from ptttool.cli.views.shown.results import ResultView

        return ResultView(self.form == "md", self.top, analyzing.PAGE)

    def run(self, paths: Sequence[str]) -> None:
        """Analyze recordings. Of several, those that cannot be read are reported and left out; at the end, the first error is raised."""
        from ptttool.api.analyses import RecordingSums
        from ptttool.cli.recordings import end_with

        sums = RecordingSums(self.names) if len(paths) > 1 else None
        done, failures = self.read.each(paths, lambda one: self._look(one, sums), None if sums is None else _unread)
        if self.form == "json":
            print_json(self._document(done, sums))
        elif sums is not None:
            self._show_sums(sums)
        end_with(failures, is_printed=self.form == "json")

    def _look(self, recording: Recording, sums: RecordingSums | None) -> tuple[Analyzed, PtttoolError | None]:
        path = recording.path
        answer, failure = self.read.analyzed(recording, self.names, sums)
        answer = replace(answer, path=self.shown.get(path, path), error=None if failure is None else ErrorBody.of(failure))
        if self.form != "json":
            self._show(answer, None if sums is None else path)
        return answer, failure

    def _document(self, done: list[Analyzed], sums: RecordingSums | None) -> AnalyzeDocument | AnalyzedRecordings:
        from ptttool.api.analyses import AnalyzeDocument, AnalyzedRecordings

        if sums is not None:
            return sums.document(done)
        [one], name = done, self.names[0]
        if len(self.names) > 1:
            return AnalyzedRecordings(tuple(done))
        return AnalyzeDocument(one.results[name], one.path, str(one.protocol), name, one.lacks[name], one.diagnostics, one.loss, one.error)

    def _show(self, answer: Analyzed, path: str | None = None) -> None:
        from ptttool.cli.recordings import show_diagnostic

        view = self.view
        if path is not None:
            view.heading(path, 1)
        if "loss" not in answer.results:  # its result is the same, with causes
            view.signs(answer.loss)
        for name, result in answer.results.items():
            if len(self.names) > 1:
                view.heading(name, 2)
            view.show(result, answer.lacks[name], answer.machine, answer.path)
        for diagnostic in answer.findings:
            show_diagnostic(diagnostic, path)

    def _show_sums(self, sums: RecordingSums) -> None:
        from ptttool.api.analyses import NotSummed

        results = sums.results()
        if results:
            self.view.heading("all recordings together", 1)
        for name, result in results.items():
            if len(self.names) > 1:
                self.view.heading(name, 2)
            self.view.show(result, (), sums.machine)
        why = {
            NotSummed.EACH: "its result is of one recording, and times of different recordings do not join",
            NotSummed.OTHER_EVENT: "the recordings were asked for different TLPs",
            NotSummed.FEW: "fewer than two recordings could be read",
        }
        for name, reason in sums.reasons().items():
            note(f"{name} is not summed up: {why[reason]}")


def _unread(path: str, error: PtttoolError) -> Analyzed:
    from ptttool.api.analyses import Analyzed

    return Analyzed(path, error=ErrorBody.of(error))
