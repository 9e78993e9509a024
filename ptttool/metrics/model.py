"""What a metric is: its name, what it means, its samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """The type of a metric, in the words of Prometheus."""

    GAUGE = "gauge"
    """A number that can rise and fall; also ``…_info``, whose value is always 1."""
    SUMMARY = "summary"
    """Quantiles, with ``…_sum`` and ``…_count``."""


@dataclass(frozen=True)
class Metric:
    """A metric.

    Parameters
    ----------
    name : str
        Its name: words, then the unit.
    help : str
        What it says, in one sentence.
    kind : Kind
        Its type.
    unit : str
        Its unit, where the name ends in one.
    """

    name: str
    help: str
    kind: Kind = Kind.GAUGE
    unit: str = ""


@dataclass(frozen=True)
class Sample:
    """A value of a metric.

    Parameters
    ----------
    value : int or float
        The value.
    labels : Mapping[str, str]
        What it belongs to.
    suffix : str
        ``_sum`` or ``_count`` of a summary.
    """

    value: int | float
    labels: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""


class Samples:
    """Samples by metric, in the order in which the metrics were added first."""

    def __init__(self) -> None:
        self._samples: dict[Metric, list[Sample]] = {}

    def add(self, metric: Metric, value: int | float | None, suffix: str = "", **labels: object) -> None:
        """Add a value; None adds nothing: an unknown value has no sample."""
        if value is not None:
            texts = {name.rstrip("_"): str(label) for name, label in labels.items()}
            self._samples.setdefault(metric, []).append(Sample(value, texts, suffix))

    def extend(self, other: Samples) -> None:
        """Add the samples of another collection."""
        for metric, samples in other.families.items():
            self._samples.setdefault(metric, []).extend(samples)

    @property
    def families(self) -> Mapping[Metric, list[Sample]]:
        """The samples by metric."""
        return self._samples
