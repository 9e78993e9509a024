"""Completion of command lines in bash, zsh and fish.

A shell asks at every Tab. So what commands and options there are is read from files (``make man`` writes them)
instead of from the commands, and nothing is imported that the answer does not need.
"""
