"""The compiled loop over accesses and the same file as plain Python find the same in any arrays, wherever they are cut."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.analyses.io import counts
from ptttool.analyses.io.counts import Counts
from ptttool.kernel import accesses, is_compiled
from ptttool.table.batch import Batch
from ptttool.table.values import Values
from ptttool.tlp.columns import KINDS, TLP_SCHEMA
from tests.support.plain import plain

NAMES = ("index", "kind", "requester", "address", "length_dw", "requested_bytes", "byte_count")


PLAIN = plain("accesses")


def batch(random: np.random.Generator, count: int, first: int) -> Batch:
    """TLPs that begin and end in few places, of which some have no requester."""
    dws = random.choice([1, 2, 4, 8, 16, 16, 32, 127, 128, 1024], count)
    columns: dict[str, Any] = {
        "kind": random.choice([KINDS.index(kind) for kind in ("MRd", "MWr", "CplD", "Msg")], count).astype("u1"),
        "requester": random.choice([0, 0x100, 0xFFFF], count).astype("u2"),
        "address": random.choice(np.array([0, 0x1000, 0x2000, 1 << 63, (1 << 64) - 4096], "u8"), count)
        + random.choice(np.array([0, 4, 64, 128, 192, 512, 640, 4032, 4080], "u8"), count),
        "length_dw": dws.astype("u2"),
        "requested_bytes": (4 * dws - random.integers(0, 4, count)).astype("u2"),
        "byte_count": random.choice([16, 64, 3], count).astype("u2"),
    }
    values = {name: Values(array) for name, array in columns.items()} | {"index": Values(range(first, first + count))}
    values["requester"] = Values(columns["requester"], random.integers(0, 9, count) > 0)
    return Batch(TLP_SCHEMA.select(NAMES), count, {name: values[name] for name in NAMES})


def tables(seed: int, sizes: list[int], *, parts: bool) -> dict[str, Any]:
    """Everything that is found in batches of these sizes, added up one after the other, or as parts that are joined."""
    random = np.random.default_rng(seed)
    whole, first, clock = Counts(), 0, 0
    for size in sizes:
        rows, ticks = batch(random, size, first), np.cumsum(random.integers(0, 1 << 40, size))
        if parts:
            later = Counts()
            later.add(rows, ticks)
            whole.merge(pickle.loads(pickle.dumps(later)), clock)
        else:
            whole.add(rows, ticks + clock)
        first, clock = first + size, clock + int(ticks[-1])
    return {name: rows.tolist() for name, rows in whole.close().items()} | {"left_out": whole.left_out}


SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=5)


@pytest.mark.skipif(not is_compiled(), reason="the loops are not compiled: pip install -e . with a C compiler does it")
@given(seed=st.integers(0, 1 << 32), sizes=SIZES, parts=st.booleans())
def test_both_find_the_same_in_any_arrays(seed: int, sizes: list[int], parts: bool) -> None:
    found = []
    for module in (accesses, PLAIN):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(counts, "accesses", module)
            found.append(tables(seed, sizes, parts=parts))
    assert found[0] == found[1]


@given(seed=st.integers(0, 1 << 32), sizes=SIZES, parts=st.booleans())
def test_what_is_left_out_is_counted(seed: int, sizes: list[int], parts: bool) -> None:
    """The smallest keys are kept, and their numbers are those that they have without a limit."""
    whole = tables(seed, sizes, parts=parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "MAX_IO_PAGES", 2)
        found = tables(seed, sizes, parts=parts)
        patch.setattr(counts, "MAX_IO_REQUESTERS", 1)
        one = tables(seed, sizes, parts=parts)
    for name in ("entries", "descriptors", "records", "completions", "small_writes", "small_reads", "lists"):
        assert found[name] == whole[name][:2]
        assert found["left_out"][name] == sum(row[1] for row in whole[name][2:])
    assert [one["requesters"], one["levels"]] == [
        whole["requesters"][:1],
        [row for row in whole["levels"] if row[0] >> accesses.LEVEL_BIT == whole["requesters"][0][0]],
    ]
    assert one["left_out"]["requesters"] == sum(row[1] for row in whole["requesters"][1:])


def test_keys_that_differ_in_their_uppermost_bits_only_have_places_of_their_own() -> None:
    table = PLAIN.Table(1, counts._SEED)
    for requester in range(1 << 12):
        table.row(requester << accesses.REQUESTER_BIT)
    (free,) = np.nonzero(np.asarray(table.places) == 0)
    assert np.diff(free, prepend=-1).max() < 1 << 8  # otherwise nearly all of them are in one run


@pytest.mark.parametrize("module", [accesses, PLAIN])
def test_a_write_may_end_at_any_address(module: Any) -> None:
    """Addresses are numbers with a sign in the loop: 2^63 is behind the largest one."""
    behind = np.array([(1 << 63) - 512, 1 << 63], np.uint64).view(np.int64)
    bytes_, dws = np.array([512, 4], np.uint16), np.array([128, 1], np.uint16)
    none, who = np.empty(0, np.int64), np.zeros(2, np.uint16)
    columns: list[Any] = [np.full(256, module.WRITE, np.uint8), np.zeros(2, np.uint8), np.empty(0, np.uint8), who, behind, dws]
    columns += [bytes_, bytes_, np.arange(2), none]
    found = module.Accesses(1, 4)
    view: Any = memoryview
    found.add(*map(view, columns))
    sums = dict(zip(module.REQUESTER, np.asarray(found.requesters.rows)[0].tolist(), strict=True))
    assert (sums["writes"], sums["data_write_bytes"]) == (2, 516)  # the small write belongs to the data that it ends


def test_columns_that_are_too_short_are_an_error() -> None:
    roles, none = np.full(256, accesses.READ, np.uint8), np.empty(0, np.uint8)
    short, numbers = np.empty(0, np.uint16), np.empty(0, np.int64)
    columns: list[Any] = [roles, np.zeros(3, np.uint8), none, short, numbers, short, short, short, numbers, numbers]
    with pytest.raises(IndexError):
        accesses.Accesses(1, 4).add(*columns)


@given(seed=st.integers(0, 1 << 32), sizes=SIZES)
def test_parts_that_are_joined_hold_what_the_whole_does(seed: int, sizes: list[int]) -> None:
    """Rings of completions and bursts of data: what a write is depends on those before it."""
    whole, joined = (tables(seed, sizes, parts=parts) for parts in (False, True))
    for name in ("completions", "records", "entries", "descriptors"):
        assert joined[name] == whole[name]
    sums = [accesses.REQUESTER.index(name) for name in ("writes", "data_write_bytes", "bursts")]
    assert [[row[column] for column in sums] for row in joined["requesters"]] == [
        [row[column] for column in sums] for row in whole["requesters"]
    ]
