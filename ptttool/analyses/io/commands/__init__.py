"""Commands of NVMe drives one by one: by queue, and by phase.

A submission queue's fetches follow its tail doorbell, a completion queue's entries are followed by its head doorbell (NVM Express base
specification, sections 3.1.4 and 3.3). So the doorbells say which queue a ring belongs to, and the order of what happens in a queue says
how long each step took. Where the doorbells are shadowed in memory, the drive's own reads of them say the same.

Parts of a recording keep the few TLPs that matter, in their order. Where the recording begins, they are taken in blocks of fixed rows:
each block first tells more of what the pages are, and then is followed. So nothing depends on how the recording was cut.
"""
