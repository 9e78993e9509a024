"""Completion of command lines in bash, zsh and fish.

A shell asks at every Tab. So what commands and options there are is read from files (:mod:`~ptttool.cli.words` writes them)
instead of from the commands, and nothing is imported that the answer does not need.
"""
