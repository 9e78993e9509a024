"""Assumptions on what records hold and which TLPs the device records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ptttool.machine.model import FilterKind
from ptttool.pci import format_id
from ptttool.recording.auxtrace import DMA_BUFFER
from ptttool.selftest.document import Judged, Verdict
from ptttool.selftest.evidence import Evidence, Found
from ptttool.wording import counted

CONFIRMED, REFUTED, NOT_TESTED = Verdict
_CPL_A, _CPL_B = 3, 2
_SHOWN: Final = 8

# What a configuration read of four bytes and its completion hold (PCI Express Base Specification, 2.2.7 and 2.2.9), by column.
_OF_REQUESTS: Final = {"length_dw": 1, "first_be": 15, "last_be": 0}
_OF_COMPLETIONS: Final = {"length_dw": 1, "byte_count": 4, "lower_address": 0, "status": 0}


def _all_rows(found: Found) -> tuple[int, ...]:
    return tuple(sorted({int(found.index[0]), int(found.index[-1])})) if len(found) else ()


def judge_fields(evidence: Sequence[Evidence]) -> Judged:
    """A4: the fields of the reads that were made are where the documents put them."""
    texts = "A4", "fields", "header fields are where the kernel documentation puts them"
    looked = 0
    shown: tuple[str, tuple[int, ...]] | None = None
    for one in evidence:
        for found, known in ((one.requests, _OF_REQUESTS), (one.completions, _OF_COMPLETIONS)):
            if not len(found):
                continue
            looked += len(found)
            shown = shown or (one.name, _all_rows(found))
            for name, value in known.items():
                values = found.columns[name]
                wrong = (values >= 0) & (values != value)
                if wrong.any():
                    message = f"{name} is {int(values[wrong][0])}, not {value}, in {int(wrong.sum()):,} of {len(found):,} TLPs"
                    return Judged(*texts, REFUTED, message, one.name, tuple(found.index[wrong][:_SHOWN].tolist()), {"field": name})
    for one in evidence:
        if one.made and not len(one.requests) and one.strangers >= one.made:
            message = (
                f"{one.strangers:,} configuration reads of the function are recorded, and their registers are not those that were read"
            )
            return Judged(*texts, REFUTED, message, one.name, (), {"field": "register"})
    if shown is None:
        return Judged(*texts, NOT_TESTED, "no coded read was recorded")
    message = f"register, function, length, byte enables, byte count and status of {looked:,} TLPs are those of the reads that were made"
    return Judged(*texts, CONFIRMED, message, *shown, {"tlps": looked})


def judge_requester(evidence: Sequence[Evidence]) -> Judged:
    """A5: who the requester of the processor's accesses is."""
    texts = "A5", "requester", "accesses of the processor have the requester 00:00.0"
    ids: dict[int, tuple[str, tuple[int, ...]]] = {}
    for one in evidence:
        for found in (one.requests, one.completions):
            for value in np.unique(found.columns["requester"]).tolist() if len(found) else ():
                ids.setdefault(value, (one.name, tuple(found.index[found.columns["requester"] == value][:2].tolist())))
    if not ids:
        return Judged(*texts, NOT_TESTED, "no coded read was recorded")
    names = ", ".join(format_id(value) for value in sorted(ids) if value >= 0)
    details: Mapping[str, object] = {"requesters": [format_id(value) for value in sorted(ids) if value >= 0]}
    other = next((value for value in sorted(ids) if value), None)
    if other is None:
        return Judged(*texts, CONFIRMED, "00:00.0 in all coded reads", *ids[0], details)
    return Judged(*texts, REFUTED, f"coded reads have the requester {names}", *ids[other], details)


def judge_types(evidence: Sequence[Evidence]) -> Judged:
    """A6: an event of several types records more than one of them outbound."""
    texts = "A6", "several types", "an event of several types records more than one of them outbound"
    alone = {one.event.filter for one in evidence if one.event.types == ("np",) and len(one.requests)}
    for one in evidence:
        classes = {kind: count for (direction, kind), count in one.classes.items() if direction == "outbound"}
        numbers = ", ".join(f"{count:,} {kind}" for kind, count in sorted(classes.items()))
        if len(classes) > 1:
            return Judged(*texts, CONFIRMED, f"{numbers} outbound in one recording", one.name, (), dict(classes))
        outbound = one.event.flow.outbound
        if one.event.filter in alone and one.made and classes and "NP" in outbound and len(outbound) > 1 and not len(one.requests):
            message = f"{numbers} outbound and none of {one.made:,} coded reads, which an event of type np alone records"
            return Judged(*texts, REFUTED, message, one.name, (), dict(classes))
    return Judged(*texts, NOT_TESTED, "no recording holds outbound TLPs of two types; --load read may bring them")


def judge_completions(evidence: Sequence[Evidence]) -> Judged:
    """A7: completions of the processor's reads are CPL A."""
    texts = "A7", "CPL A, CPL B", "completions of the processor's reads are CPL A, not CPL B"
    seen: dict[int, list[Evidence]] = {_CPL_A: [], _CPL_B: []}
    filters = {one.event.filter for one in evidence if len(one.requests) + len(one.completions)}
    for one in evidence:
        if one.made and one.direction in seen and "cpl" in one.event.types and one.event.filter in filters:
            seen[one.direction].append(one)
    numbers = {
        name: [sum(len(one.completions) for one in seen[value]), sum(one.made for one in seen[value])]
        for name, value in (("a", _CPL_A), ("b", _CPL_B))
    }
    said = f"{numbers['a'][0]:,} of {numbers['a'][1]:,} with CPL A, {numbers['b'][0]:,} of {numbers['b'][1]:,} with CPL B"
    with_b = next((one for one in seen[_CPL_B] if len(one.completions)), None)
    if with_b is not None:
        return Judged(*texts, REFUTED, said, with_b.name, _all_rows(with_b.completions), numbers)
    with_a = next((one for one in seen[_CPL_A] if len(one.completions)), None)
    if with_a is None or not seen[_CPL_B]:
        return Judged(*texts, NOT_TESTED, "it takes a recording with CPL A and one with CPL B", details=numbers)
    return Judged(*texts, CONFIRMED, said, with_a.name, _all_rows(with_a.completions), numbers)


def judge_requester_filter(evidence: Sequence[Evidence]) -> Judged:
    """A8: a requester filter selects by Requester ID alone."""
    texts = "A8", "requester filter", "a requester filter compares the Requester ID, that of completions, too"
    without = _holds_reads(evidence)
    for one in evidence:
        if one.event.kind is not FilterKind.REQUESTER or one.readings is None or one.event.filter != one.readings.function.routing_id:
            continue
        of_reads = len(one.requests) + len(one.completions)
        if of_reads:
            found = one.completions if len(one.completions) else one.requests
            message = f"{of_reads:,} TLPs of coded reads are recorded, whose requester is another"
            return Judged(*texts, REFUTED, message, one.name, _all_rows(found), {"tlps": of_reads})
        requests, completions = one.own
        if (one.direction, one.bits) in without and requests and completions:
            message = f"{requests:,} requests of the function, {completions:,} completions for it, and no read of the processor"
            return Judged(*texts, CONFIRMED, message, one.name, (), {"tlps": 0, "requests": requests, "completions": completions})
    message = "it takes a recording that filters for the function, with requests of its own and their completions: --load read brings them"
    return Judged(*texts, NOT_TESTED, message)


def _holds_reads(evidence: Sequence[Evidence]) -> set[tuple[int, int]]:
    """Return direction and bits of the recordings of the port that hold coded reads."""
    ports = (one for one in evidence if one.event.kind is FilterKind.ROOT_PORT)
    return {(one.direction, one.bits) for one in ports if len(one.requests) + len(one.completions)}


def judge_ports(evidence: Sequence[Evidence]) -> Judged:
    """A9: each root port has its own bit."""
    texts = "A9", "port bits", "a bit of the filter stands for one root port: twice its device number, modulo 8"
    ports = [one for one in evidence if one.event.kind is FilterKind.ROOT_PORT and one.readings is not None]
    for function in dict.fromkeys(one.readings.function for one in ports if one.readings is not None):
        own = [one for one in ports if one.readings is not None and one.readings.function == function]
        with_reads = {one.event.filter & 0xFFFF: one for one in own if len(one.requests) + len(one.completions)}
        single = {mask: one for mask, one in with_reads.items() if mask.bit_count() == 1}
        if len(single) > 1:
            message = f"reads of {function} are recorded with the bits of {counted(len(single), 'port')}"
            shown = list(single.values())[-1]
            return Judged(*texts, REFUTED, message, shown.name, (), {"filters": [f"{mask:#06x}" for mask in sorted(single)]})
        for one in own:
            other = one.event.filter & 0xFFFF
            if single and one.made and not any(other & mask for mask in with_reads) and (one.direction, one.bits) in _holds_reads(own):
                mask = next(iter(single))
                message = f"reads are recorded with bits {mask:#06x}, and none of {one.made:,} with {other:#06x}"
                return Judged(*texts, CONFIRMED, message, one.name, (), {"filters": [f"{each:#06x}" for each in (mask, other)]})
    return Judged(*texts, NOT_TESTED, "it takes recordings with the bits of two root ports")


def judge_reserved(evidence: Sequence[Evidence]) -> Judged:
    """A11: words of 8DW that hold nothing are what the documents say."""
    texts = "A11", "reserved words", "in 8DW the first word is ffffffff and the seventh is 0"
    records, check, reserved = (sum(one.reserved[part] for one in evidence) for part in range(3))
    details = {"records": records, "check": check, "reserved": reserved}
    shown = next((one.name for one in evidence if any(one.reserved[1:])), None) or next(
        (one.name for one in evidence if one.reserved[0]), None
    )
    if not records:
        return Judged(*texts, NOT_TESTED, "no record of 8DW")
    if check or reserved:
        message = f"of {records:,} records, {check:,} have another first word, {reserved:,} another seventh"
        return Judged(*texts, REFUTED, message, shown, (), details)
    return Judged(*texts, CONFIRMED, f"in all {records:,} records", shown, (), details)


def judge_so(evidence: Sequence[Evidence]) -> Judged:
    """A12: SO of 4DW is the opposite of Relaxed Ordering. Configuration reads never have RO (PCI Express Base Specification, 2.2.6.3)."""
    texts = "A12", "SO", "SO of 4DW is the opposite of Relaxed Ordering"
    for one in evidence:
        values = one.requests.columns["so"] if len(one.requests) else np.zeros(0)
        if (values == 0).any():
            message = f"SO is 0 in {int((values == 0).sum()):,} of {len(values):,} configuration reads, which never have Relaxed Ordering"
            return Judged(
                *texts,
                REFUTED,
                message,
                one.name,
                tuple(one.requests.index[values == 0][:_SHOWN].tolist()),
                {"so_0": int((values == 0).sum())},
            )
    reads = sum(len(one.requests) for one in evidence if one.bits < 32)
    message = f"SO is 1 in all {reads:,} configuration reads; it takes TLPs with Relaxed Ordering, too" if reads else "no coded read in 4DW"
    return Judged(*texts, NOT_TESTED, message)


def commits_early(evidence: Sequence[Evidence]) -> tuple[bool | None, Evidence | None, str]:
    """Return whether the driver hands trace over before the AUX area is full, what shows it, and in which words."""
    for one in evidence:
        sizes = [event.size for event in one.aux]
        if any(size > DMA_BUFFER for size in sizes):
            return False, one, f"an AUX event of {max(sizes):,} bytes: more than one buffer of 4 MiB at once"
        if len(sizes) > 1 and sizes[0] == DMA_BUFFER:
            return True, one, f"{counted(len(sizes), 'AUX event')}, of 4 MiB each but the last"
    most = max((sum(event.size for event in one.aux) for one in evidence), default=0)
    return None, None, f"no recording filled a buffer of 4 MiB (most: {most:,} bytes)"


def judge_aux(evidence: Sequence[Evidence]) -> Judged:
    """A13: the driver hands each buffer over as it is full."""
    texts = "A13", "AUX", "the driver hands each buffer of 4 MiB over at once, so a trace may be longer than the AUX area"
    early, one, words = commits_early(evidence)
    name = None if one is None else one.name
    return Judged(*texts, NOT_TESTED if early is None else CONFIRMED if early else REFUTED, words, name)


def judge_loss(evidence: Sequence[Evidence]) -> Judged:
    """A14: what passes is recorded."""
    texts = "A14", "loss", "all TLPs of coded reads are recorded, and as many as counters count"
    shown: Evidence | None = None
    looked = 0
    for one in evidence:
        for found in (one.requests, one.completions):
            if not one.made or not len(found):
                continue
            missing = np.setdiff1d(np.arange(one.made), found.reads)
            looked, shown = looked + one.made, shown or one
            if len(missing):
                beside = np.searchsorted(found.reads, missing[0])
                near = tuple(int(found.index[at]) for at in (beside - 1, beside) if 0 <= at < len(found))
                what = "requests" if found is one.requests else "completions"
                message = f"{what} of {len(missing):,} of {one.made:,} coded reads are not recorded (first: read {int(missing[0]):,})"
                return Judged(*texts, REFUTED, message, one.name, near, {"missing": len(missing), "made": one.made})
    counted = [(one, row) for one in evidence for row in one.counted]
    for one, row in counted:
        if row.missing:
            return Judged(*texts, REFUTED, f"{row.event}: {row.text}", one.name, (), {"missing": row.missing, "counted": row.counted})
    if shown is None:
        return Judged(*texts, NOT_TESTED, "no recording that should hold all coded reads")
    of_counters = "without counters of hisi_pcie, nothing is known of more load"
    if counted:
        number = sum(row.counted for _, row in counted)
        of_counters = f"counters of hisi_pcie counted {number:,} TLPs, and the recordings have as many or more"
    details = {"made": looked, "missing": 0, "counted": sum(row.counted for _, row in counted)}
    return Judged(*texts, CONFIRMED, f"all {looked:,} requests and completions of coded reads; {of_counters}", shown.name, (), details)
