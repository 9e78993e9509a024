"""Numbers of a machine and of recordings for Prometheus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ptttool._version import __version__
from ptttool.api.reading import Reading
from ptttool.api.recording import Recording, request_of
from ptttool.doctor.contract import Status
from ptttool.doctor.examine import examine
from ptttool.errors import PtttoolError, UsageError
from ptttool.files.atomic import output_file
from ptttool.machine.discovery import open_source, read_machine
from ptttool.metrics.catalogue import DASHBOARD, INFO
from ptttool.metrics.machine import add_doctor, add_journal, add_machine
from ptttool.metrics.model import Samples
from ptttool.metrics.recordings import ANALYSES, add_recording
from ptttool.metrics.text import text_of
from ptttool.pipeline.analyzing.ask import Ask, run
from ptttool.pipeline.workers.pool import workers_for
from ptttool.recording.folders import with_folders

__all__ = ["DASHBOARD", "Metrics", "machine_metrics", "recording_metrics"]

MOST_RECORDINGS = 200
"""Recordings whose metrics are written at once: each has some thirty series."""

# The mode of a file that node_exporter, another user, reads.
_READABLE = 0o644


@dataclass(frozen=True)
class Metrics:
    """Metrics with their samples.

    Parameters
    ----------
    samples : Samples
        The samples by metric.
    errors : tuple of PtttoolError
        Why some recordings could not be read, or not to their end.
    """

    samples: Samples
    errors: tuple[PtttoolError, ...] = ()

    def text(self, *, openmetrics: bool = False) -> str:
        """Return the samples in Prometheus' text format, or in OpenMetrics'."""
        return text_of(self.samples, openmetrics=openmetrics)

    def write(self, path: str | Path, *, openmetrics: bool = False) -> None:
        """Write the text to a file that all may read; an older one is replaced, at no moment is there half a file.

        Raises
        ------
        OutputError, AccessError
            The file cannot be written.
        """
        with output_file(path, force=True, mode=_READABLE) as file:
            file.write(self.text(openmetrics=openmetrics).encode("utf-8", "backslashreplace"))

    @property
    def values(self) -> Mapping[str, Mapping[tuple[tuple[str, str], ...], int | float]]:
        """The values by name of the metric, and by its labels: pairs, sorted."""
        return {
            metric.name: {tuple(sorted(one.labels.items())): one.value for one in samples if one.name == metric.name}
            for metric, samples in self.samples.families.items()
        }


def machine_metrics(sysfs: str | Path | None = None, *, demo: bool = False, doctor: bool = True) -> Metrics:
    """Return the metrics of a machine: devices, tune attributes, filters, links, the journal, the doctor's checks.

    Parameters
    ----------
    sysfs, demo
        As :func:`ptttool.find_machine` takes them. A machine without a PTT device has metrics, too.
    doctor : bool
        Run the checks of :func:`ptttool.examine_machine`.

    Raises
    ------
    UsageError, InputError, AccessError, MissingPackageError
        As :func:`ptttool.find_machine` does.

    Examples
    --------
    >>> found = machine_metrics(demo=True)
    >>> found.values["ptttool_tune_attribute_value"][("attribute", "qos_tx_p"), ("device", "hisi_ptt0_0")]
    1
    """
    source = open_source(sysfs, demo)
    samples = _with_version()
    add_machine(samples, read_machine(source, tune=True))
    add_journal(samples, source)
    if doctor:
        verdict = examine(source)
        checks = {answer.check: str(answer.status) for answer in verdict.answers}
        add_doctor(samples, checks, [str(status) for status in Status], verdict.works)
    return Metrics(samples)


def recording_metrics(paths: str | Path | Sequence[str | Path], *, jobs: int = 1) -> Metrics:
    """Return the metrics of recordings: TLPs and bytes by direction and class, signs of loss, latency in ticks.

    A recording that cannot be read has ``ptttool_recording_readable 0``, and its error is among the errors of the result.

    Parameters
    ----------
    paths : str, Path, or sequence of them
        Recordings, or folders of recordings.
    jobs : int
        Processes that decode.

    Raises
    ------
    UsageError
        There are too many recordings for Prometheus.

    Examples
    --------
    >>> found = recording_metrics("fixtures/captures/6.12/m-8dw-port10-type7-dir2.data")
    >>> sum(found.values["ptttool_recording_tlps"].values())
    5569
    """
    named = with_folders([str(path) for path in ([paths] if isinstance(paths, str | Path) else paths)])
    files = list(dict.fromkeys(named))  # a series that is there twice is an error
    if len(files) > MOST_RECORDINGS:
        message = f"{len(files)} recordings would be too many series: at most {MOST_RECORDINGS}"
        raise UsageError(message, hint="write the newest ones, or ask with 'ptttool analyze'", code="too-many-recordings")
    samples = _with_version()

    def look(recording: Recording) -> tuple[None, PtttoolError | None]:
        answer, failure = read.found(recording, partial(run, kinds=ANALYSES if recording.is_ptt else ("loss",)))
        add_recording(samples, recording.path, answer.results, whole=failure is None, size=_size(recording.path))
        return None, failure

    with workers_for(files, jobs) as workers:
        read = Reading(request_of(None, None), Ask(workers))
        _, errors = read.each(files, look, lambda path, _: add_recording(samples, path, {}, whole=False, size=_size(path)))
    return Metrics(samples, tuple(errors))


def _with_version() -> Samples:
    samples = Samples()
    samples.add(INFO, 1, version=__version__)
    return samples


def _size(path: str) -> int | None:
    with suppress(OSError):
        return Path(path).stat().st_size
    return None
