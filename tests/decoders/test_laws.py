"""The laws that every protocol is held to, on valid streams and on damaged ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ptttool.decoders.contract import PROTOCOLS, RecordProtocol
from ptttool.decoders.elements.model import FIELDS_BY_NAME, KINDS, Element, Flags
from ptttool.decoders.elements.rows import ElementRows
from ptttool.decoders.parameters import Given
from ptttool.decoders.stack import parameters_of, stack_of
from ptttool.errors import UsageError
from tests.decoders.rows import rows_of
from tests.decoders.streams import Stream, batches, elements, stack, streams_of
from tests.toys import toy_protocol as toy

NAMES = [protocol.name for protocol in PROTOCOLS if not isinstance(protocol, RecordProtocol)]  # toy among them
every_protocol = pytest.mark.parametrize("name", NAMES)
# Behind a gap, flags tell that decoding came back in step; the elements are the same.
CAME_BACK = Flags.RESYNCED


def plain(found: Sequence[Element]) -> list[Element]:
    return [replace(element, flags=element.flags & ~CAME_BACK) for element in found]


def cut(data: bytes) -> st.SearchStrategy[tuple[int, ...]]:
    some = st.lists(st.integers(0, len(data)), max_size=6).map(tuple)
    return some | st.just(tuple(range(len(data))))


@every_protocol
@given(data=st.data())
def test_any_cutting_gives_the_same_elements(name: str, data: st.DataObject) -> None:
    stream = data.draw(streams_of(name))
    assert elements(name, stream, data.draw(cut(stream.data))) == elements(name, stream)


@every_protocol
@given(data=st.data())
def test_any_cutting_of_any_bytes_gives_the_same_elements(name: str, data: st.DataObject) -> None:
    stream = data.draw(streams_of(name))
    junk = data.draw(st.binary(max_size=300))
    place = data.draw(st.integers(0, len(stream.data)))
    content = stream.data[:place] + junk + stream.data[place:]
    found = elements(name, stream, data=content)
    assert elements(name, stream, data.draw(cut(content)), data=content) == found
    assert sum(element.size for element in found) == len(content)


@every_protocol
@given(data=st.data())
def test_sizes_add_up(name: str, data: st.DataObject) -> None:
    stream = data.draw(streams_of(name))
    found = elements(name, stream, index=4096)
    assert sum(element.size for element in found) == len(stream.data)
    assert all(4096 <= element.index <= 4096 + len(stream.data) for element in found)


@every_protocol
@given(data=st.data())
def test_back_in_step_after_damage(name: str, data: st.DataObject) -> None:
    """Whatever bytes are overwritten, from the first place of synchronisation after them on everything is as it was."""
    stream = data.draw(streams_of(name))
    start = data.draw(st.integers(0, len(stream.data)))
    junk = data.draw(st.binary(max_size=min(40, len(stream.data) - start)))
    damaged = stream.data[:start] + junk + stream.data[start + len(junk) :]
    found = elements(name, stream, data=damaged)
    assert sum(element.size for element in found) == len(damaged)
    after = [sync.end for sync in stream.syncs if sync.start >= start + len(junk)]
    if after:
        wanted = [element for element in elements(name, stream) if element.index >= after[0]]
        assert plain([element for element in found if element.index >= after[0]]) == plain(wanted)


@every_protocol
@given(data=st.data())
def test_lost_bytes(name: str, data: st.DataObject) -> None:
    """A missing piece, reported or seen by the offset: sizes add up to what was fed, and the gap is an element."""
    stream = data.draw(streams_of(name))
    end, start = sorted(data.draw(st.tuples(st.integers(0, len(stream.data)), st.integers(0, len(stream.data)))))
    reported = data.draw(st.booleans())
    decoder = stack(name, stream.parameters).decoder()
    fields = stack(name, stream.parameters).fields
    found = list(decoder.feed(stream.data[:end], offset=0).objects(fields))
    found += decoder.feed(stream.data[start:], offset=start, discontinuity=reported or start == end).objects(fields)
    found += decoder.finish().objects(fields)
    assert sum(element.size for element in found) == end + len(stream.data) - start
    if end and (start > end or reported):
        assert any(element.fields.get("reason") == "discontinuity" for element in found)


@every_protocol
@given(data=st.data())
def test_finished_is_as_new(name: str, data: st.DataObject) -> None:
    stream = data.draw(streams_of(name))
    decoder = stack(name, stream.parameters).decoder()
    fields = stack(name, stream.parameters).fields
    rounds = [
        [*decoder.feed(stream.data, offset=0).objects(fields), *decoder.finish().objects(fields)]
        for _ in range(2)
    ]  # fmt: skip
    assert rounds[0] == rounds[1]


@every_protocol
@given(data=st.data())
def test_reserved_values_are_flagged(name: str, data: st.DataObject) -> None:
    stream = data.draw(streams_of(name))
    flagged = [element.index for element in elements(name, stream) if Flags.RESERVED in element.flags]
    assert sorted(set(flagged)) == sorted(stream.reserved)
    if not stream.bad:
        for batch in batches(name, stream):
            found = ElementRows(batch, stack(name, stream.parameters).schema).violation()
            if found is not None:
                assert found.offset == min(stream.reserved)
                assert found.row == batch.first_violation()
                return
        assert not stream.reserved


@every_protocol
@given(data=st.data())
def test_elements_have_the_fields_of_their_kind(name: str, data: st.DataObject) -> None:
    stream = data.draw(streams_of(name))
    fields = stack(name, stream.parameters).fields
    always = {kind.name: set(kind.fields) for kind in KINDS}
    own = {field.name for field in fields if field.name not in FIELDS_BY_NAME}
    declared = {field.name for field in fields}
    allowed = {kind.name: {*kind.fields, *kind.optional} & declared for kind in KINDS}
    for element in elements(name, stream):
        assert set(element.fields) <= allowed[element.kind] | own
        assert set(element.fields) >= always[element.kind]


@every_protocol
@settings(deadline=None, max_examples=50)
@given(data=st.data())
def test_tables_say_what_elements_say(name: str, data: st.DataObject) -> None:
    stream = data.draw(streams_of(name))
    chosen = stack(name, stream.parameters)
    for batch in batches(name, stream):
        table = batch.batch(chosen.schema, cpu=3, file="x.bin")
        assert tuple(table.columns) == chosen.schema.names
        assert rows_of(table) == [{"file": "x.bin", "cpu": 3, **flat(element)} for element in batch.objects(chosen.fields)]
        frame = table.to_polars().to_dicts()
        assert [{key: value for key, value in row.items() if value is not None} for row in frame] == rows_of(table)
        some = batch.batch(chosen.schema, names=("raw", "index"))
        assert rows_of(some) == [{key: row[key] for key in ("raw", "index") if key in row} for row in rows_of(table)]


def flat(element: Element) -> dict[str, Any]:
    """An element as a row of a frame, absent values left out."""
    row = {name: getattr(element, name) for name in ("index", "size", "channel", "timestamp", "protocol", "kind", "raw")}
    row |= {"flags": " ".join(element.flags.names) or None, **element.fields}
    return {name: value for name, value in row.items() if value is not None}


@every_protocol
@given(data=st.data())
def test_some_elements_of_a_batch(name: str, data: st.DataObject) -> None:
    stream = data.draw(streams_of(name))
    fields = stack(name, stream.parameters).fields
    for batch in batches(name, stream):
        mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(batch), max_size=len(batch))), dtype=np.bool_)
        wanted = [element for element, kept in zip(batch.objects(fields), mask, strict=True) if kept]
        assert list(batch.take(mask).objects(fields)) == wanted


@every_protocol
def test_parameters_that_cannot_be(name: str) -> None:
    protocol = PROTOCOLS.get(name)
    parameters = parameters_of(protocol)
    with pytest.raises(UsageError, match="no_such_thing") as caught:
        stack_of(name, {"no_such_thing": Given("1", "-p")})
    assert caught.value.code == "unknown-parameter"
    for parameter in parameters:
        if parameter.mandatory:
            others = {p.name: Given(str(p.default), "-p") for p in parameters if p.default is not None}
            with pytest.raises(UsageError, match=parameter.name):
                stack_of(name, others)
        wrong = {"int": "x", "ints": "1,x", "bool": "perhaps", "choice": "neither", "text": ""}[parameter.type]
        if parameter.used:
            with pytest.raises(UsageError, match=f"-p: {parameter.name}={wrong}"):
                stack_of(name, {parameter.name: Given(wrong, "-p")})
        for edge, step in ((parameter.minimum, -1), (parameter.maximum, 1)):
            if edge is not None and parameter.used:
                with pytest.raises(UsageError, match=parameter.name):
                    stack_of(name, {parameter.name: Given(str(edge + step), "-p")})


@every_protocol
def test_a_protocol_explains_itself(name: str) -> None:
    protocol = PROTOCOLS.get(name)
    assert protocol.meaning
    assert protocol.resync
    assert all(parameter.meaning for parameter in protocol.parameters)
    for framing in protocol.framings:
        names = [parameter.name for parameter in parameters_of(protocol, framing)]
        assert len(set(names)) == len(names)
    assert all(field.meaning for field in protocol.fields)


@every_protocol
def test_streams_are_streams(name: str) -> None:
    """The laws would hold of nothing at all, too."""

    def has_packets(stream: Stream) -> bool:
        return sum(element.kind not in ("no_sync", "unknown") for element in elements(name, stream)) > 5

    assert find(streams_of(name), has_packets, settings=settings(phases=[Phase.generate], database=None)).data


def test_the_toy_is_among_them() -> None:
    assert toy.NAME in NAMES
