"""Run the points of a case and judge each."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from campaign.crash.cases import Case, State
from campaign.crash.client import Ended, Job, Servers
from campaign.crash.events import Event, Point, points


@dataclass
class Report:
    """What the points of a case showed.

    Parameters
    ----------
    case : str
        Its name.
    calls : int
        Number of system calls of an undisturbed run.
    counts : dict of Event to int
        Points by event.
    wrong : list of (Point, list of str)
        Points after which something was wrong.
    """

    case: str
    calls: int
    counts: dict[Event, int] = field(default_factory=dict)
    wrong: list[tuple[Point, list[str]]] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Number of points."""
        return sum(self.counts.values())


def thinned(found: Sequence[Point], most: int | None) -> Sequence[Point]:
    """Choose some points at even distances; the same ones each time. None: all."""
    if most is None or len(found) <= most:
        return found
    return [found[number * len(found) // most] for number in range(most)]


class Campaign:
    """Runs cases, each thread in a folder of its own."""

    def __init__(self, servers: Servers, folder: Path, jobs: int) -> None:
        self._servers, self._folder = servers, folder
        # Its threads live as long as the campaign: each has a server.
        self._pool = ThreadPoolExecutor(jobs)
        self._local = threading.local()

    def run(self, case: Case, events: Sequence[Event] = tuple(Event), most: int | None = None) -> Report:
        """Count the calls of a case, then run its points.

        Parameters
        ----------
        case : Case
            The command.
        events : Sequence of Event
            What happens.
        most : int or None
            Largest number of points; None: all.

        Raises
        ------
        RuntimeError
            The undisturbed run fails.
        """
        return self._run_points(case, *self._pool.submit(self._try, case).result(), events, most)

    def _try(self, case: Case) -> tuple[State, State, Ended]:
        """Run a case undisturbed; return the states before and after, and how it ended."""
        home = self._place(case)
        shutil.rmtree(home / "run", ignore_errors=True)
        case.reset(home)
        old = case.outputs(home)
        ended = self._run(case.job(home, case.arguments))
        if ended.status != 0:
            raise RuntimeError(f"{case.name}: exit code {ended.status}: {ended.err}")
        new = case.outputs(home)
        if old == new:
            raise RuntimeError(f"{case.name}: it changed nothing")
        return old, new, ended

    def _run_points(self, case: Case, old: State, new: State, ended: Ended, events: Sequence[Event], most: int | None) -> Report:
        chosen = thinned([point for point in points(ended.calls, events) if case.concerns(point)], most)
        report = Report(case.name, len(ended.calls))
        judged = self._pool.map(lambda point: self._judge(case, point, old, new), chosen)
        for point, wrong in zip(chosen, judged, strict=True):
            report.counts[point.event] = report.counts.get(point.event, 0) + 1
            if wrong:
                report.wrong.append((point, wrong))
        return report

    def _judge(self, case: Case, point: Point, old: State, new: State) -> list[str]:
        home = self._place(case)
        shutil.rmtree(home / "run", ignore_errors=True)
        case.reset(home)
        ended = self._run(case.job(home, case.arguments, point))
        return case.judge(home, point, ended, old, new, self._run)

    def _run(self, job: Job) -> Ended:
        return self._servers.mine().run(job)

    def _place(self, case: Case) -> Path:
        """Return this thread's folder for a case; build it at first use."""
        places: dict[str, Path] = self._local.__dict__.setdefault("places", {})
        if case.name not in places:
            places[case.name] = Path(tempfile.mkdtemp(dir=self._folder))
            case.build(places[case.name])
            case.prime(places[case.name], self._run)
        return places[case.name]


def run_all(
    cases: Sequence[Case], servers: Servers, folder: Path, *, jobs: int = 1, events: Sequence[Event] = tuple(Event), most: int | None = None
) -> Iterator[Report]:
    """Run cases one after the other; yield the report of each."""
    campaign = Campaign(servers, folder, jobs)
    for case in cases:
        yield campaign.run(case, events, most)
