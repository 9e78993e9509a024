"""What the kernel would call an IO, from the headers of TLPs: commands of NVMe drives, and packets of network controllers.

An NVMe drive fetches commands from submission queues (entries of 64 bytes) and writes completion queues (entries of 16 bytes). Both are
rings in memory that begin at a page, so a page of a ring is seen slot after slot (NVM Express base specification, section 3.3.3). Data go
to and from all other pages; lists of their addresses (PRP) are read before them. A network controller writes what it received, and then
that it did: the descriptor back to where it was read, or an entry of a ring.

The pass adds up small tables by requester and page; what is a ring is decided at the end, when the whole recording has been seen.
"""
