"""The kernel's side beside the link's: commands of tracepoints joined with those of TLPs, by their order.

In a queue, the k-th submission entry that a drive fetches is the k-th ``nvme_setup_cmd``, and the k-th completion entry that it writes is
the k-th ``nvme_complete_rq``. Which completion belongs to which command is said by the command identifier of the tracepoints. So no clock
is shared; a clock follows from what cannot have happened before what (``clock.py``).
"""
