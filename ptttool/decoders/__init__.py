"""Packet trace protocols: bytes in, elements out. One file a protocol; :mod:`ptttool.decoders.contract` has the contract.

Nothing here opens a file or prints.
"""
