"""What a metric is: its name, what it means, its samples."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from ptttool.documents import document


class Kind(StrEnum):
    """The type of a metric, in the words of Prometheus."""

    GAUGE = "gauge"
    """A number that can rise and fall; also ``…_info``, whose value is always 1."""
    SUMMARY = "summary"
    """Quantiles, with ``…_sum`` and ``…_count``."""


class MetricValue(Struct, frozen=True):
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

    json_name: ClassVar = "SampleBody"

    name: str
    labels: Mapping[str, str]
    value: float


class Metric(Struct, frozen=True):
    """A metric with its samples.

    Parameters
    ----------
    name : str
        Its name.
    help : str
        What it says.
    kind : Kind
        Its type.
    unit : str or None
        Its unit; null for a number without one.
    samples : tuple of MetricValue
        Its values.
    """

    json_name: ClassVar = "MetricBody"

    name: str
    help: str
    kind: Kind = field(default=Kind.GAUGE, name="type")
    unit: str | None = None
    samples: tuple[MetricValue, ...] = ()


@document("metrics")
class MetricsDocument(Struct, frozen=True):
    """What ``metrics --json`` prints.

    Parameters
    ----------
    metrics : tuple of Metric
        The metrics.
    """

    metrics: tuple[Metric, ...]


class Samples:
    """Samples by metric (``families``), in the order in which the metrics were added first."""

    def __init__(self) -> None:
        self.families: dict[Metric, list[MetricValue]] = {}

    def add(self, metric: Metric, value: int | float | None, suffix: str = "", **labels: object) -> None:
        """Add a value; None adds nothing: an unknown value has no sample."""
        if value is not None:
            texts = {name.rstrip("_"): str(label) for name, label in labels.items()}
            self.families.setdefault(metric, []).append(MetricValue(metric.name + suffix, texts, value))

    @property
    def document(self) -> MetricsDocument:
        """The metrics with their samples."""
        return MetricsDocument(tuple(replace(metric, samples=tuple(samples)) for metric, samples in self.families.items()))
