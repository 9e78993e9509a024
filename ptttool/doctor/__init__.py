"""Whether a trace would work on a machine: checks with cause and fix, one a file."""
