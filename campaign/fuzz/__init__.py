"""Hostile input: mutated files and texts for every reader of bytes from outside.

``python -m campaign.fuzz --seconds 60`` shares the time among the targets. An input is a finding if anything other than an error of
ptttool comes out of the reader, if it takes too much time or memory, or if a message has a control character.

Two engines run the same targets. atheris is guided by coverage and has wheels for x86-64. Our own engine runs everywhere, and is guided
from Python 3.12 on.
"""
