"""Events of the ``hisi_pcie`` PMU that answer a question without a trace: they count in hardware, and lose nothing.

Names as in the driver (drivers/perf/hisilicon/hisi_pcie_pmu.c) and its document (Documentation/admin-guide/perf/hisi-pcie-pmu.rst):
``rx`` is what root ports receive, ``tx`` what they send; a rate is flux divided by time, a mean latency is latency divided by cnt. Both of
a pair have to count at the same time: they are one group for perf. Flux of reads is that of the requests: their data are in the
completions. Events of bandwidth also count one requester (``bdf``), or TLPs above or below a length (``thr_len``, ``thr_mode``); those of
latency do not.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from ptttool.capture.perf.counters import events_of, filter_of, pmu_of_core
from ptttool.machine.model import PttDevice
from ptttool.pci import PciAddress

_Pairs = tuple[tuple[str, str], ...]
_RATES: Final[_Pairs] = tuple(
    (f"{towards}_{kind}_flux", f"{towards}_{kind}_time") for towards in ("rx", "tx") for kind in ("mwr", "mrd", "cpl")
)


class Answer(Struct, frozen=True):
    """What counters say of a purpose, and what they do not.

    Parameters
    ----------
    says : str
        What they say.
    leaves_out : str
        What only a trace says.
    pairs : tuple of tuple of str
        The events, in pairs that count together.
    thresholds : tuple of int
        Each pair counts TLPs of at least 2^n DW, once for each n; empty: all TLPs.
    """

    says: str
    leaves_out: str
    pairs: _Pairs
    thresholds: tuple[int, ...] = ()

    @property
    def knows_requesters(self) -> bool:
        """Whether all the events count one requester: those of bandwidth do."""
        return all(event.endswith(("_flux", "_time")) for pair in self.pairs for event in pair)


ANSWERS: Final[Mapping[str, Answer]] = {
    "traffic": Answer(
        "rates of writes, reads and completions in each direction (flux divided by time); with bdf= of one requester, with thr_len= of "
        "TLPs above or below a length", "all requesters at once, and exact sizes",
        _RATES,
    ),
    "payload": Answer(
        "how much of the writes is in TLPs of at least 16, 32, 64 and 128 DW, 64 to 512 bytes (rx_mwr_flux with thr_len=)",
        "exact sizes, alignment, and which limit they meet",
        (("rx_mwr_flux", "rx_mwr_time"),),
        (4, 5, 6, 7),
    ),
    "bandwidth": Answer("mean rates in each direction (flux divided by time)", "bursts, and whose they are", _RATES),
    "latency": Answer(
        "mean latency of reads by devices (rx_mrd_latency divided by rx_mrd_cnt)",
        "percentiles, single requests, one requester of several",
        (("rx_mrd_latency", "rx_mrd_cnt"),),
    ),
    "mmio": Answer(
        "mean latency of reads by the processor (tx_mrd_latency divided by tx_mrd_cnt)", "registers, polling and percentiles",
        (("tx_mrd_latency", "tx_mrd_cnt"),),
    ),
}  # fmt: skip
"""By purpose; other purposes look at single TLPs, which counters do not know."""


class CounterAdvice(Struct, frozen=True):
    """Counters that answer a purpose.

    Parameters
    ----------
    purpose : str
        The purpose.
    pmu : str
        Name of the PMU.
    is_there : bool
        Whether the machine has it, with these events.
    says, leaves_out : str
        What counters say of the purpose, and what they do not.
    events : tuple of str
        Names of the events.
    command : tuple of str
        The arguments of the perf command.
    command_line : str
        The same as one line for a shell.
    """

    purpose: str
    pmu: str
    is_there: bool
    says: str
    leaves_out: str
    events: tuple[str, ...]
    command: tuple[str, ...]
    command_line: str


def advise(
    purposes: Iterable[str], device: PttDevice, ports: Sequence[PciAddress], requester: PciAddress | None, seconds: float
) -> list[CounterAdvice]:
    """Return what counters answer of purposes, with the command that counts.

    Parameters
    ----------
    purposes : iterable of str
        The purposes.
    device : PttDevice
        The PTT device: the PMU of its core counts.
    ports : sequence of PciAddress
        The root ports to count; for a requester the port above it, if that is known.
    requester : PciAddress or None
        The one requester to count, where the events know requesters.
    seconds : float
        How long to count.
    """
    pmu = pmu_of_core(device)
    if pmu is None:
        return []
    there = () if device.source is None else events_of(device.source, pmu)
    advice = []
    for purpose in purposes:
        answer = ANSWERS.get(purpose)
        if answer is None:
            continue
        of_one = requester if answer.knows_requesters else None
        if of_one is None and not ports:
            continue
        of = filter_of(ports, of_one)
        # An older driver has fewer of them.
        pairs = [pair for pair in answer.pairs if set(pair) <= set(there)] or list(answer.pairs)
        limits = [f",thr_len={number:#x}" for number in answer.thresholds] or [""]
        groups = ["{" + ",".join(f"{pmu}/{event},{of}{limit}/" for event in pair) + "}" for pair in pairs for limit in limits]
        command = ("perf", "stat", "-a", *(word for group in groups for word in ("-e", group)), "--", "sleep", f"{seconds:.9g}")
        advice.append(
            CounterAdvice(
                purpose, pmu, all(set(pair) <= set(there) for pair in pairs), answer.says, answer.leaves_out,
                tuple(event for pair in pairs for event in pair), command, shlex.join(command),
            )
        )  # fmt: skip
    return advice
