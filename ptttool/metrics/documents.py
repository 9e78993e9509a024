"""What ``metrics --json`` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ptttool.documents import document
from ptttool.metrics.model import Kind, Samples


@dataclass(frozen=True)
class SampleBody:
    """A value of a metric.

    Parameters
    ----------
    name : str
        Name of the series: the metric's, for a summary also with ``_sum`` and ``_count``.
    labels : Mapping[str, str]
        What it belongs to.
    value : float
        The value.
    """

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class MetricBody:
    """A metric with its samples.

    Parameters
    ----------
    name : str
        Its name.
    help : str
        What it says.
    type : Kind
        Its type.
    unit : str or None
        Its unit; null for a number without one.
    samples : tuple of SampleBody
        Its values.
    """

    name: str
    help: str
    type: Kind
    unit: str | None
    samples: tuple[SampleBody, ...]


@document("metrics")
@dataclass(frozen=True)
class MetricsDocument:
    """What ``metrics --json`` prints.

    Parameters
    ----------
    metrics : tuple of MetricBody
        The metrics.
    """

    metrics: tuple[MetricBody, ...]

    @classmethod
    def of(cls, samples: Samples) -> MetricsDocument:
        """Make the document of samples."""
        return cls(
            tuple(
                MetricBody(
                    metric.name,
                    metric.help,
                    metric.kind,
                    metric.unit or None,
                    tuple(SampleBody(metric.name + one.suffix, one.labels, one.value) for one in found),
                )
                for metric, found in samples.families.items()
            )
        )
