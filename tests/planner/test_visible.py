"""What a condition can see of an event, against records of every Fmt and Type that the slow decoder reads."""

from __future__ import annotations

import random
import struct
from functools import cache
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.api.capture import build_event
from ptttool.capture.event.choose import ChosenEvent
from ptttool.errors import UsageError
from ptttool.planner.visible import check_condition
from ptttool.table.frame import type_of
from ptttool.table.where import compile_where
from ptttool.tlp.codes import TYPES
from ptttool.tlp.columns import TLP_SCHEMA
from tests.reference import hisi_ptt as reference

EVENTS: list[dict[str, Any]] = [
    {"format": "4dw"},
    {"format": "4dw", "direction": "both", "types": ("np", "cpl")},
    {"format": "4dw", "direction": "outbound", "types": ("np",)},
    {"format": "8dw", "types": ("p",)},
    {"format": "8dw"},
    {"format": "8dw", "direction": "outbound", "types": ("cpl",)},
]


@cache
def event(number: int) -> ChosenEvent:
    return build_event(device="hisi_ptt0_0", root_ports=["00:10.0"], **EVENTS[number])


@cache
def rows(number: int) -> list[dict[str, Any]]:
    """Some records of each Fmt and Type that the event traces, decoded."""
    chosen, pick = event(number), random.Random(number)
    flow, eight_dw = chosen.built.flow, EVENTS[number]["format"] == "8dw"
    decoded = []
    for direction, groups in (("inbound", flow.inbound), ("outbound", flow.outbound)):
        codes = [code for code, one in TYPES.items() if one.tlp_class in {group.split()[0] for group in groups}]
        for code in [code for code in codes for _ in range(16)]:
            dws = [pick.getrandbits(32) for _ in range(4)]
            header = code << 24 | dws[0] & 0xFFFFFF
            words = [0xFFFFFFFF, pick.getrandbits(32), header, *dws[1:], 0, 0] if eight_dw else [code << 25 & 0xFFFFFFFF, *dws[1:]]
            if not eight_dw:
                words[0] = (code >> 5) << 30 | (code & 0x1F) << 25 | dws[0] & 0x01FFFFFF
            for _, record in reference.decode_bytes(struct.pack(f"<{len(words)}I", *words), eight_dw=eight_dw):
                decoded.append({**record, "direction": direction})
    assert decoded
    return decoded


def refused(number: int, condition: str) -> tuple[bool, set[str]]:
    try:
        seen = check_condition(condition, event(number))
    except UsageError as error:
        assert error.code == "never-true"
        return True, set(error.details["columns"])
    assert {one.code for one in seen} <= {"not-seen"}
    return False, {one.message.split()[3].rstrip(":") for one in seen}


@pytest.mark.parametrize("number", range(len(EVENTS)))
def test_columns_are_seen_where_a_record_can_have_them(number: int) -> None:
    names = [name for name in rows(number)[0] if name in TLP_SCHEMA.names and not name.startswith("dw")]
    assert len(names) > 20
    for name in names:
        seen = any(row[name] is not None for row in rows(number))
        assert refused(number, f'"{name}" is not null') == (not seen, set() if seen else {name}), name


ATOMS = st.sampled_from(
    (
        "kind = 'MRd'",
        "kind = 'CplD'",
        "class = 'P'",
        "class = 'NP'",
        "direction = 'inbound'",
        "direction = 'outbound'",
        "status = 'UR'",
        "status is null",
        "ep = 1",
        "so = 1",
        "tag = 3",
        "message = 0x10",
    )
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda each: st.builds("not ({})".format, each) | st.builds("({}) {} ({})".format, each, st.sampled_from(["and", "or"]), each),
    max_leaves=4,
)


@given(number=st.integers(0, len(EVENTS) - 1), condition=CONDITIONS)
def test_nothing_is_refused_that_a_record_can_meet(number: int, condition: str) -> None:
    where = compile_where(condition, TLP_SCHEMA)
    frame = pl.DataFrame({
        name: pl.Series(name, [row[name] for row in rows(number)], dtype=type_of(TLP_SCHEMA[name])) for name in where.columns
    })  # fmt: skip
    if where.mask(frame, len(rows(number))).any():
        assert not refused(number, condition)[0]
    elif set(where.columns) <= {"kind", "class", "direction"} and "not" not in condition:
        assert refused(number, condition)[0]
