# The C types of events.py.
cimport cython

cdef int _READ, _WRITE
cdef int _BREAK, _FETCH, _RECORD, _SMALL_READ, _SMALL_WRITE, _DATA_READ, _DATA_WRITE, _READ_END, _WRITE_END, _ANSWER, _SMALL_ANSWER
cdef Py_ssize_t _WHAT, _ADDRESS, _AT, _INDEX, _STRETCH, _FIRST, _LAST
cdef int _BLOCK_BITS, _REQUESTER_BIT, _SIZE_BIT
cdef long long _ENTRY, _SLOT, _WORD, _SECTOR


@cython.locals(
    used=Py_ssize_t, stretch="long long", last_segment="long long", last_block="long long", data="long long[:, ::1]", row=Py_ssize_t,
    role=int, address="long long", size="long long", low="long long", what="long long", number="long long", segment="long long",
    requester="long long", of=Py_ssize_t, end=Py_ssize_t,
)
cpdef Py_ssize_t collect(
    const unsigned char[::1] roles, const unsigned char[::1] kinds, const unsigned char[::1] valid,
    const unsigned short[::1] requesters, const long long[::1] addresses, const unsigned short[::1] lengths,
    const unsigned short[::1] counts, const unsigned char[::1] lower, const long long[::1] index, const long long[::1] at,
    const long long[::1] segments, long long[:, ::1] found, long long[::1] ends,
) except -1
