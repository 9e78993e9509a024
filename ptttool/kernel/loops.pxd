# The C types of loops.py.
cimport cython

cdef Py_ssize_t _KEY, _STATE, _REQUEST, _FIRST, _LAST, _AT, _SEGMENT, _TO_FIRST, _LIMIT, _EXPECTED, _REQUESTED, _RECEIVED, _COMPLETIONS
cdef Py_ssize_t _STATUS, _KIND, _ROW, _OWN, _FRONT, _SENT, _WENT, _MINE, _LEVEL, _POSTED, _QUIET, _MORE, _MORE_ENDS, _MORE_INDEX
cdef long long _ANSWERS, _ANSWERED, _OPEN, _CLOSED
cdef long long _COMPLETE, _ERROR, _SHORT, _INSIDE, _END
cdef int _IS_FIXED, _IS_WRITE, _HAS_DATA, _IS_COMPLETION, _IS_REQUEST, _IS_POSTED, _GOES_OUT, _NOT_KNOWN
cdef long long _AROUND, _UNSEEN
cdef unsigned long long _WORD
cdef long long _MOST_BYTES
cdef Py_ssize_t _SUMS


cdef class Matcher:
    cdef readonly long long[:, ::1] entries, ended, answers, orphans
    cdef int[::1] table
    cdef unsigned long long seed
    cdef readonly Py_ssize_t used, ends, fronts, groups
    cdef readonly long long early, early_ends, gap
    cdef readonly long long sent, went, level, lowest, posted, quiet
    cdef readonly bint is_split, knows, acts
    cdef readonly long long[::1] mine
    cdef readonly object front

    @cython.locals(row=Py_ssize_t, field=Py_ssize_t, number=Py_ssize_t)
    cpdef load(self, const long long[:, ::1] entries)

    @cython.locals(row=Py_ssize_t, field=Py_ssize_t)
    cpdef begin(self, const long long[:, ::1] answers, object front, long long gap)

    @cython.locals(
        hole=Py_ssize_t, part=Py_ssize_t, row=Py_ssize_t, role=int, key="long long", number="long long", now="long long", last="long long",
        size="long long", left="long long", piece="long long", room="long long", ends=bint, way=int, wire="long long", is_sent=bint,
    )
    cpdef rows(
        self, const unsigned char[::1] roles, const unsigned char[::1] kinds, const unsigned short[::1] requesters,
        const unsigned short[::1] tags, const unsigned char[::1] segments, const unsigned short[::1] lengths,
        const unsigned short[::1] asked, const unsigned char[::1] statuses, const unsigned short[::1] counts,
        const unsigned char[::1] lowers, const unsigned char[::1] hidden, const unsigned long long[::1] index, long long start,
        const long long[::1] at, const long long[::1] breaks, const long long[::1] holes, const unsigned char[::1] gaps,
        const unsigned char[::1] directions,
    )

    @cython.locals(entry=Py_ssize_t, expected="long long")
    cdef int _request(
        self, long long key, long long number, long long at, long long segment, long long kind, int role, long long asked, long long size,
        Py_ssize_t row,
    ) except -1

    @cython.locals(entry=Py_ssize_t)
    cdef int completion(
        self, long long key, long long index, long long at, long long segment, long long status, long long piece, long long count,
        bint ends, bint hides, long long wire, long long sent, long long went, long long mine,
    ) except -1

    @cython.locals(state="long long", since="long long", front=Py_ssize_t)
    cdef int _answer(
        self, Py_ssize_t entry, long long key, long long index, long long at, long long segment, long long status, long long piece,
        long long count, bint ends, bint hides, long long wire, long long sent, long long went, long long mine,
    ) except -1

    @cython.locals(group=Py_ssize_t)
    cdef int _spare(self, Py_ssize_t entry, long long index, long long count, long long ends) except -1

    @cython.locals(row=Py_ssize_t, entry=Py_ssize_t, field=Py_ssize_t)
    cpdef follow(self, const long long[:, ::1] entries, const long long[:, ::1] answers, bint is_split)

    @cython.locals(number=Py_ssize_t)
    cpdef hole(self, long long gap)

    @cython.locals(mask=Py_ssize_t, place=Py_ssize_t)
    cdef Py_ssize_t _place(self, long long key) except -1

    @cython.locals(number=Py_ssize_t)
    cdef Py_ssize_t _found(self, long long key) except -2

    @cython.locals(number=Py_ssize_t, entry=Py_ssize_t, field=Py_ssize_t)
    cdef Py_ssize_t _added(self, long long key) except -1

    @cython.locals(completions="long long", received="long long", ending="long long", end=Py_ssize_t)
    cdef int _close(self, Py_ssize_t number, long long gap, bint is_cut, bint has_end, long long to_last, long long sent, long long went, long long mine) except -1


@cython.locals(
    count=Py_ssize_t, sums="int[::1]", used=Py_ssize_t, before=Py_ssize_t, level=Py_ssize_t, block="long long", at=Py_ssize_t, what=int,
    place="long long", number=Py_ssize_t, is_last=bint, rises=int,
)
cpdef Py_ssize_t sum_levels(
    const long long[::1] events, const long long[::1] times, long long end, int series_shift, long long[:, ::1] entries,
) except -1
