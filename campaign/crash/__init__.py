"""Crash consistency: a command is killed, or a system call fails, at each of its system calls in turn.

``python -m campaign.crash`` runs all points and prints their number by command. A point is one run of a command in a fresh folder with one
event at one system call. The judgement after each: every output is the old or the new one, byte for byte; the next run works and leaves
nothing else behind; a fault is reported as one line with an exit code, never as a traceback.
"""
