# The C types of commands.py.
cimport cython

cdef int _CLEAR, _TAIL, _HEAD, _FETCHED, _ENDED, _INTERRUPT, _READ, _WRITE, _LAST_READ, _LAST_WRITE, _ALONE
cdef long long _TO_FETCH, _OLDEST, _NEWEST, _TO_DATA, _DATA, _TO_COMPLETION, _TO_INTERRUPT, _TO_DOORBELL, _TO_NEXT, _BYTES
cdef Py_ssize_t _LEVEL, _LOWEST, _PEAK, _PEAK_INDEX, _UNMATCHED, _WAITS, _WAITS_AT, _HEAD_AT, _HEAD_INDEX, _INTERRUPTS, _LAST_TOLD
cdef Py_ssize_t _OPEN, _STATE, _FETCHED_AT, _FETCHED_INDEX, _READ_DATA, _WRITE_DATA, _TOLD, _JOINED
cdef Py_ssize_t _DOORBELLS, _FIFO, _STACK, _TO_TELL, _LISTS, _AT, _ROW, _QUEUE, _NEXT, _FIELDS, _ROOM


cdef class Commands:
    cdef Py_ssize_t most, held, free
    cdef readonly Py_ssize_t used, left_out
    cdef readonly long long[:, ::1] groups, drives, found
    cdef long long[:, ::1] ends, links

    cpdef load(self, long long[:, ::1] groups, long long[:, ::1] drives, long long[:, ::1] ends, long long[:, ::1] links, object counts)

    cpdef make_room(self, Py_ssize_t groups, Py_ssize_t drives)

    cdef object _grown(self, object former, Py_ssize_t rows)

    @cython.locals(row=Py_ssize_t, role=int, drive=Py_ssize_t, group=Py_ssize_t)
    cpdef follow(
        self, const unsigned char[::1] roles, const int[::1] groups, const int[::1] told, const int[::1] drives,
        const long long[::1] counts, const long long[::1] at, const long long[::1] index, const unsigned char[::1] shadowed,
    )

    @cython.locals(rows="long long[:, ::1]", link=Py_ssize_t, newer=Py_ssize_t, column=Py_ssize_t, _="long long")
    cdef int _fetch(
        self, Py_ssize_t drive, Py_ssize_t group, long long count, long long now, long long index, int is_shadowed
    ) except -1

    @cython.locals(rows="long long[:, ::1]", link=Py_ssize_t, _="long long")
    cdef int _end(
        self, Py_ssize_t drive, Py_ssize_t group, Py_ssize_t told, long long count, long long now, long long index
    ) except -1

    @cython.locals(rows="long long[:, ::1]", queue=Py_ssize_t, link=Py_ssize_t)
    cdef void _tell(self, Py_ssize_t drive, Py_ssize_t group, long long now, long long index, int is_shadowed) except *

    @cython.locals(rows="long long[:, ::1]", way=Py_ssize_t)
    cdef void _see_data(self, Py_ssize_t drive, int role, long long count, long long now) except *

    @cython.locals(rows="long long[:, ::1]", way=Py_ssize_t, index="long long")
    cdef int _tell_data(self, Py_ssize_t drive, Py_ssize_t group, long long now) except -1

    cdef int _find(self, long long step, Py_ssize_t group, long long ticks, long long index) except -1

    @cython.locals(link=Py_ssize_t, first=Py_ssize_t)
    cdef void _push(self, Py_ssize_t group, Py_ssize_t which, long long now, long long index, Py_ssize_t queue) except *

    @cython.locals(link=Py_ssize_t)
    cdef Py_ssize_t _pop(self, Py_ssize_t group, Py_ssize_t which) except -1

    @cython.locals(group=Py_ssize_t, which=Py_ssize_t, drive=Py_ssize_t)
    cdef int _clear(self) except -1
