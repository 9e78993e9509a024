"""The JSON document of a generated recording."""

from __future__ import annotations

from msgspec import Struct

from ptttool.documents import document


class GeneratedStream(Struct, frozen=True):
    """The AUX stream of one CPU.

    Parameters
    ----------
    cpu : int
        The CPU that traced.
    records : int
        Number of its trace records.
    """

    cpu: int
    records: int


@document("generate")
class GenerateDocument(Struct, frozen=True):
    """A recording of simulated traffic.

    Parameters
    ----------
    file : str
        The recording's path.
    profile : str
        Name of the traffic's profile.
    format : str
        `4dw` or `8dw`.
    pattern : str
        Layout of the headers: `legacy` or `v1`.
    direction : str
        `all`, `inbound`, `outbound` or `both`.
    seed : int
        The number that the traffic was made from.
    event : str
        The PMU event that the recording names.
    config : int
        The same as a number.
    records : int
        Number of trace records, one for each TLP.
    size : int
        Bytes of trace data.
    streams : tuple of GeneratedStream
        The AUX streams, in order.
    duration : float
        Duration of the trace in seconds.
    """

    file: str
    profile: str
    format: str
    pattern: str
    direction: str
    seed: int
    event: str
    config: int
    records: int
    size: int
    streams: tuple[GeneratedStream, ...]
    duration: float
