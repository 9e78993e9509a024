"""Valid streams of every protocol, for the laws of ``test_laws.py``: a module each, called as the protocol, with a function ``streams``."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import strategies as st

from ptttool.decoders.elements.arrays import Elements
from ptttool.decoders.elements.model import Element
from ptttool.decoders.parameters import Given
from ptttool.decoders.stack import Stack, stack_of


@dataclass(frozen=True)
class Sync:
    """A place where a decoder must be in step. ``start``, ``end``: of the bytes that bring it there, none for a place that is so by itself.

    Whatever lies before ``start`` has no say in the elements from ``end`` on.
    """

    start: int
    end: int


@dataclass(frozen=True)
class Stream:
    """A valid stream. ``parameters``: as given with -p. ``reserved``: indexes of the elements that hold a reserved value, no others do.

    ``bad``: whether anything else than reserved values stops strict decoding (a start out of step, say).
    """

    data: bytes
    parameters: Mapping[str, str] = field(default_factory=dict)
    syncs: tuple[Sync, ...] = ()
    reserved: tuple[int, ...] = ()
    bad: bool = False


def streams_of(protocol: str) -> st.SearchStrategy[Stream]:
    """Valid streams of a protocol."""
    module = importlib.import_module(f"{__name__}.{protocol.replace('-', '_')}")
    found: st.SearchStrategy[Stream] = module.streams()
    return found


def stack(protocol: str, parameters: Mapping[str, str]) -> Stack:
    return stack_of(protocol, {name: Given(text, "-p") for name, text in parameters.items()})


def batches(protocol: str, stream: Stream, cuts: tuple[int, ...] = (), *, index: int = 0, data: bytes | None = None) -> list[Elements]:
    """All batches of a stream that is fed in pieces, ended and all."""
    content = stream.data if data is None else data
    decoder = stack(protocol, stream.parameters).decoder()
    edges = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    found = [decoder.feed(content[start:end], offset=index + start) for start, end in pairwise(edges)]
    return [*found, decoder.finish()]


def elements(protocol: str, stream: Stream, cuts: tuple[int, ...] = (), *, index: int = 0, data: bytes | None = None) -> list[Element]:
    """All elements of a stream, in the order of their indexes; those of one index as they come."""
    fields = stack(protocol, stream.parameters).fields
    found = [element for batch in batches(protocol, stream, cuts, index=index, data=data) for element in batch.objects(fields)]
    return sorted(found, key=lambda element: element.index)
