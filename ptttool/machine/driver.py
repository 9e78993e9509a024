"""Which driver the PTT devices of a machine have, and what it does: the one place that knows.

Read in the sources of mainline, and of four trees of openEuler (5.10 and 6.6); `docs/drivers.md` lists them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import ClassVar, Final

from msgspec import Struct
from msgspec.structs import replace

from ptttool.machine.sources.contract import Source, or_none

EARLY_COMMIT: Final = (6, 8)
"""The first mainline release whose driver hands trace over before the AUX area is full (7a527d4d9273). An older release may carry it, and
does not show it; none of the openEuler drivers that were read does."""
OPENEULER: Final = "openeuler"

_MODULE = "/sys/module/hisi_ptt"
# openEuler writes its own release into that of the kernel; so do those who build other kernels.
_OF_OPENEULER, _OF_OTHERS = re.compile(r"\.oe\d{4}", re.ASCII), re.compile(r"deb\d|\.el\d|\.fc\d|-generic|-default|-arm64$", re.ASCII)
_OS_RELEASES: Final = ("/etc/os-release", "/usr/lib/os-release")
_MOST_NAMES = 16


class Driver(Struct, frozen=True):
    """The driver of a machine's PTT devices.

    Parameters
    ----------
    distribution : str or None
        Whose kernel it is a part of, in the words of ``ID`` in os-release: ``openeuler``. Null where neither the kernel's release nor
        os-release says it.
    srcversion : str or None
        The checksum of its source, as the kernel keeps it of a module.
    features : tuple of str
        What sysfs shows of it: ``filter-files`` (lists of root ports and requesters), ``pci-link`` (the PMU is below its PCI function),
        ``identifier`` (a file that names the hardware's version), ``pattern`` (a term of events).
    commits_early : bool or None
        Whether it hands trace to perf before the AUX area is full. Without that a trace is never longer than the AUX area. Null where it
        is not known.
    reason : str
        Why that is said.
    """

    json_name: ClassVar = "DriverDocument"

    distribution: str | None = None
    srcversion: str | None = None
    features: tuple[str, ...] = ()
    commits_early: bool | None = None
    reason: str = ""


def series_of(release: str | None) -> tuple[int, int] | None:
    """Return the first two numbers of a release of Linux, or of perf; None for another text."""
    match = re.match(r"(\d{1,4})\.(\d{1,4})", release or "", re.ASCII)
    return None if match is None else (int(match[1]), int(match[2]))


def driver_of(release: str | None, names: Collection[str] = (), *, measured: bool | None = None) -> Driver:
    """Return what is known of the driver of a kernel.

    Parameters
    ----------
    release : str or None
        Release of the kernel, such as ``5.10.0-216.0.0.115.oe2203sp4.aarch64``.
    names : Collection of str
        Names of the distribution, the first of them its own: what a container says may be of another one than the kernel.
    measured : bool or None
        Whether it commits early, where that was measured on the machine: it counts more than any name.

    Examples
    --------
    >>> driver_of("6.6.0-72.0.0.64.oe2403sp1.aarch64").commits_early, driver_of("6.12.95+deb12-arm64").commits_early
    (False, True)
    """
    distribution = next(iter(names), None)
    if _OF_OPENEULER.search(release or "") or (OPENEULER in names and not _OF_OTHERS.search(release or "")):
        distribution = OPENEULER
    elif distribution == OPENEULER:
        distribution = None
    early, reason = _early(release, distribution)
    if measured is not None:
        early, reason = measured, "measured on this machine"
    return Driver(distribution=distribution, commits_early=early, reason=reason)


def _early(release: str | None, distribution: str | None) -> tuple[bool | None, str]:
    first = f"Linux {EARLY_COMMIT[0]}.{EARLY_COMMIT[1]}"
    series = series_of(release)
    if distribution == OPENEULER and (series is None or series < EARLY_COMMIT):
        return False, "as all of openEuler's drivers that were read"
    if distribution == OPENEULER:
        return None, "openEuler's drivers of 5.10 and 6.6 were read, and none of this series"
    if series is None:
        return None, "the kernel's release is not known"
    if series >= EARLY_COMMIT:
        return True, f"{first} and newer"
    return False, f"{first} changed that; an older kernel may carry the change"


def read_driver(source: Source, release: str | None, path: str, *, measured: bool | None = None) -> Driver:
    """Read what a machine shows of its driver.

    Parameters
    ----------
    source : Source
        The machine.
    release : str or None
        Release of its kernel.
    path : str
        The folder of one of its PTT devices in sysfs.
    measured : bool or None
        As for :func:`driver_of`.
    """
    inside = set(or_none(source.names, path) or ())
    features = {
        "filter-files": bool(inside & {"root_port_filters", "requester_filters"}),
        "pci-link": re.search(r"/[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]/", path) is not None,
        "identifier": "identifier" in inside,
        "pattern": "pattern" in (or_none(source.names, f"{path}/format") or ()),
    }
    known = driver_of(release, distribution_names(source), measured=measured)
    version = or_none(source.read, f"{_MODULE}/srcversion") or ""
    return replace(
        known,
        srcversion=version if re.fullmatch(r"[0-9A-Fa-f]{1,64}", version, re.ASCII) else None,
        features=tuple(name for name, is_there in features.items() if is_there),
    )


def distribution_names(source: Source) -> tuple[str, ...]:
    """Return the names of a machine's distribution, its own first, then those that it is like: ``ubuntu``, ``debian``."""
    text = next(filter(None, (or_none(source.read, path) for path in _OS_RELEASES)), "")
    pairs = {name: value for name, _, value in (line.partition("=") for line in text.splitlines()[:200])}
    words = (word.lower() for name in ("ID", "ID_LIKE") for word in pairs.get(name, "").strip("\"' ").split())
    return tuple(dict.fromkeys(word for word in words if re.fullmatch(r"[\w.-]{1,64}", word, re.ASCII)))[:_MOST_NAMES]
