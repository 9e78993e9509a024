"""Decoders of trace: bytes in, tables of TLPs or of packet elements out.

:mod:`ptttool.decoders.contract` says what a protocol is; a new one is one new file in this package. Nothing here opens a recording or
prints.
"""
