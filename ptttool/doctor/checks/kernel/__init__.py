"""Checks of the kernel: how it is built, what it lacks, what it lets this process do."""
