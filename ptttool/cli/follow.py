"""Show one transaction: the options, the call of the pipeline, and the screen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ptttool.cli.options import analyzing, reading
from ptttool.cli.options.origin import origin_of
from ptttool.cli.terminal.talk import PrintedError, print_json
from ptttool.documents import ErrorBody
from ptttool.pipeline.workers.pool import WORTH_AN_ADDER

if TYPE_CHECKING:
    from ptttool.pipeline.recording import Request
    from ptttool.pipeline.scope import TimeOptions
    from ptttool.pipeline.workers.scheduler import Scheduler


@dataclass
class FollowJob:
    """The options of ``decode --follow``."""

    request: Request
    index: int
    to: str | None
    time: TimeOptions
    jobs: int | None
    scheduler: Scheduler | None
    sysfs: Path | None
    demo: bool
    json: bool = False

    def run(self) -> None:
        """Show the transaction."""
        from ptttool.cli.terminal.interrupts import tidy_end
        from ptttool.cli.terminal.walking import shown_progress
        from ptttool.cli.views.shown.results import ResultView
        from ptttool.pipeline.analyzing.follow import follow
        from ptttool.pipeline.recording import Recording

        form = analyzing.form_of(self.to, json=self.json)
        path = self.request.path
        chosen = reading.chosen_workers(path, self.jobs, self.scheduler, WORTH_AN_ADDER)
        with tidy_end(), chosen as workers, Recording(self.request) as recording:
            machine = origin_of(recording, self.sysfs, self.demo).machine
            found = follow(recording, self.index, workers, machine=machine, time=self.time, watch=shown_progress)
            failure = reading.failure_of(recording)
            if form == "json":
                print_json(replace(found, error=None if failure is None else ErrorBody.of(failure)))
            else:
                ResultView(form == "md", None, analyzing.PAGE).show(found, (), machine)
            if failure is not None:
                raise PrintedError(failure) if form == "json" else failure
