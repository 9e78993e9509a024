"""Speed and memory of ptttool against perf, on generated recordings. ``make bench`` runs it; ``python -m bench --help`` has the options.

How it measures:

- **The same file, in turn.** A round runs perf and every ptttool command once on the same recording, one after the other. Every figure is
  the median of all rounds (five by default). Nothing else runs meanwhile; the harness only waits. The first run of every ptttool command
  is not timed: it warms the page cache and measures memory.
- **Whole processes.** The time is measured from before a process starts until it has ended (``bench/measure.py``). Text goes to
  ``/dev/null``, for perf too; Parquet goes to a file on the disk.
- **Memory is summed over processes.** During the untimed run, the peak resident memory (VmHWM) of the process and of all its descendants
  is read every few milliseconds. The final peak of the first process comes from the kernel (ru_maxrss). The peaks of all processes are
  added, even if they occurred at different times. Pages of mapped files count. perf is one process, so its peak is the ru_maxrss of its
  rounds.
- **perf's rate is constant**, so its time for a larger file is computed: the time for the smaller one, times the ratio of the sizes.
- **In process** (``bench/columns.py``, ``bench/columns.c``): the records are in memory. One pass converts all of them to columns without
  being timed, a second pass is timed. Both programs fill the same columns of the same types, with validity masks.
- **Checked before.** The output of the commands is counted and added up once. It is compared with what was generated, with perf's own
  text, and with the decoder in C, which shares no code with ptttool.
"""
