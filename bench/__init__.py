"""Speed and memory of ptttool against perf, on generated recordings. ``make bench`` runs it; ``python -m bench --help`` has the options.

How it measures:

- **The same file, in turn.** A round runs perf and every ptttool command once on the same recording, one after the other; there are as
  many rounds as asked for (five by default), and every figure is a median. Nothing runs beside them but the harness, which waits. A first
  run of every ptttool command is not timed: it warms the page cache and measures memory.
- **Whole processes.** Seconds pass from before a process is started until it has ended (``bench/measure.py``). Text goes to ``/dev/null``,
  as perf's does; Parquet goes to a file, which is written out to the disk.
- **Memory is summed over processes.** While the untimed run lasts, the peak resident memory (VmHWM) of the process and of all its
  descendants is read every few milliseconds; what the first one had in the end, the kernel tells (ru_maxrss). The peaks of all are added,
  whenever each occurred. Pages of mapped files count. perf is one process: its peak is the ru_maxrss of its rounds.
- **perf's rate is constant**, so its time for a larger file is that for the smaller one, times the ratio of the sizes.
- **In process** (``bench/columns.py``, ``bench/columns.c``): records in memory, one pass over all of them to columns after one that is not
  timed; both sides fill the same columns of the same types, and both tell which records have them.
- **Checked before.** What the commands put out is counted and added up once, and held against what was generated, against perf's own text
  and against the decoder in C, which shares nothing with ptttool.
"""
