"""Show one transaction."""

from __future__ import annotations

from msgspec.structs import replace

from ptttool.cli.options.analyzing import PAGE
from ptttool.cli.recordings import Recordings, end_with
from ptttool.cli.terminal.talk import print_json
from ptttool.documents import ErrorBody


def show_transaction(read: Recordings, index: int, form: str) -> None:
    """Show the transaction of the TLP with this number, as JSON, Markdown or a screen."""
    from ptttool.cli.terminal.walking import shown_progress
    from ptttool.cli.views.shown.results import ResultView
    from ptttool.pipeline.analyzing.follow import follow

    with read.opened() as one:
        found = follow(one.recording, index, read.workers, one.ask, shown_progress)
        failure = one.failure()
        if form == "json":
            print_json(replace(found, error=None if failure is None else ErrorBody.of(failure)))
        else:
            ResultView(form == "md", None, PAGE).show(found, (), one.machine)
        end_with([failure], is_printed=form == "json")
