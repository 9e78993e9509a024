# The C types of accesses.py.
cimport cython

cdef int _READ, _WRITE, _ANSWER
cdef Py_ssize_t _KEY, _ACCESSES, _SLOTS, _EXACT, _STEPS, _JUMPS, _BYTES, _FOLLOWED, _AFTER, _INSIDE, _TIMES, _FIRST, _LAST
cdef Py_ssize_t _LOWEST_OFFSET, _HIGHEST_OFFSET
cdef Py_ssize_t _SURE, _ALONE_TAIL, _ALONE_PAGE, _FIRST_PAGE, _FIRST_TAIL, _DATA, _LONE
cdef Py_ssize_t _TLPS, _WRITES, _WRITE_BYTES, _DATA_WRITE_BYTES, _READS, _READ_BYTES, _READ_DATA, _READ_LISTS, _EMPTY, _IN_A_ROW, _COMPLETIONS
cdef Py_ssize_t _ENTRY_COMPLETIONS, _SLOT_COMPLETIONS, _UNEVEN, _FIRST_READ, _LAST_READ, _LAST_PAGE, _FRONT, _FRONT_ADDRESS
cdef Py_ssize_t _BURSTS, _FRONT_SIZE, _FRONT_BYTES, _FRONT_NEXT, _FRONT_WHAT, _HAS_END, _END, _HAS_WROTE
cdef Py_ssize_t _FIRST_DATA, _HAS_DATA, _DATA_END, _AFTER_PAGE, _AFTER_WHAT, _LEVEL, _LOWEST, _HIGHEST, _HIGHEST_INDEX, _IS_LOST, _FIRST_EVENT, _FRONT_WRITTEN, _WINDOW
cdef Py_ssize_t _SINCE, _HEAD, _TAIL, _COUNT, _RUN, _RUN_BYTES, _LAST_RUN, _LAST_BYTES, _TOTAL, _ODD, _INNER, _GAPS, _GROUP_SIZE
cdef Py_ssize_t _FETCHED, _ENDED, _ROOM
cdef int _OTHER, _DESCRIPTOR, _FETCH, _COMPLETION, _FETCHES, _SMALL, _RECORD, _SEVERAL, _BULK, _WROTE_DATA, _WROTE_FRONT
cdef int _WAITS, _WROTE, _IS_ALONE, _IS_OVER
cdef long long _PAGE, _SECTOR, _ENTRY, _SLOT, _LARGEST, _ELEMENT, _REACH, _PAGES_OF_ENTRY, _PAGES, _HALF_LEVELS
cdef int _PAGE_BITS, _REQUESTER_BIT, _LEVEL_BIT, _BITS
cdef unsigned long long _WORD, _HALF_WORD


cdef class Table:
    cdef readonly long long[:, ::1] rows
    cdef int[::1] places
    cdef unsigned long long seed
    cdef int shift
    cdef readonly Py_ssize_t used

    @cython.locals(room=Py_ssize_t, number=Py_ssize_t, at=Py_ssize_t, column=Py_ssize_t)
    cpdef load(self, const long long[:, ::1] rows)

    @cython.locals(place=Py_ssize_t, number=Py_ssize_t, at=Py_ssize_t)
    cdef Py_ssize_t row(self, long long key) except -1

    cdef int _make_room(self, Py_ssize_t rows, Py_ssize_t columns) except -1

    @cython.locals(mask=Py_ssize_t, place=Py_ssize_t)
    cdef Py_ssize_t _place(self, long long key) except -1


cdef class Accesses:
    cdef long long most
    cdef bint is_timed
    cdef readonly Table requesters, entries, descriptors, records, completions, small_writes, small_reads, lists, levels

    @cython.locals(row=Py_ssize_t, who=Py_ssize_t, role=int, now="long long")
    cpdef add(
        self, const unsigned char[::1] roles, const unsigned char[::1] kinds, const unsigned char[::1] valid,
        const unsigned short[::1] requesters, const long long[::1] addresses, const unsigned short[::1] lengths,
        const unsigned short[::1] asked, const unsigned short[::1] counts, const long long[::1] index, const long long[::1] at,
    )

    @cython.locals(rows="long long[:, ::1]")
    cdef int _answer(self, Py_ssize_t who, long long size, long long asked) except -1

    @cython.locals(rows="long long[:, ::1]", key="long long", what=int)
    cdef void _read(
        self, Py_ssize_t who, long long address, long long size, long long asked, long long now, long long number
    ) except *

    @cython.locals(rows="long long[:, ::1]", level="long long", end="long long", what=int)
    cdef void _write(self, Py_ssize_t who, long long address, long long size, long long asked, long long now) except *

    @cython.locals(rows="long long[:, ::1]", at=Py_ssize_t)
    cdef int _see_continued(self, Py_ssize_t who, long long address) except -1

    @cython.locals(rows="long long[:, ::1]")
    cdef int _see_burst(self, Py_ssize_t who, long long address, long long size) except -1

    @cython.locals(rows="long long[:, ::1]", table=Table, at=Py_ssize_t)
    cdef bint _goes_on(self, Py_ssize_t who, long long address) except? True

    @cython.locals(rows="long long[:, ::1]", key="long long", is_behind=bint, wrote=int, at=Py_ssize_t)
    cdef bint _see_write(self, Py_ssize_t who, int what, long long address, long long size, long long asked) except? True

    cdef int _see_alone(self, long long key, int what, long long address, long long size, long long asked) except -1

    @cython.locals(table=Table, at=Py_ssize_t)
    cdef int _see_after(self, Py_ssize_t who, int what, long long key) except -1

    @cython.locals(key="long long")
    cdef long long _page(self, Py_ssize_t who, long long address) except? -1

    @cython.locals(rows="long long[:, ::1]", at=Py_ssize_t, offset="long long", slots="long long")
    cdef int _walk(self, Table table, long long key, long long address, long long size, long long slot, long long now) except -1

    @cython.locals(rows="long long[:, ::1]")
    cdef int _see_first(self, Table table, Py_ssize_t at, long long offset, long long reach) except -1

    cdef int _add_time(self, Table table, Py_ssize_t at, long long ticks) except -1

    @cython.locals(rows="long long[:, ::1]", at=Py_ssize_t, offset="long long")
    cdef int _see_small(self, Table table, long long key, long long address, long long asked) except -1

    @cython.locals(rows="long long[:, ::1]")
    cdef int _see_offsets(self, Table table, Py_ssize_t at, long long lowest, long long highest) except -1

    @cython.locals(rows="long long[:, ::1]", before=int, at=Py_ssize_t)
    cdef int _see_reads(self, Py_ssize_t who, int first, int last, long long page) except -1

    @cython.locals(rows="long long[:, ::1]")
    cdef int _see_data(self, Py_ssize_t who) except -1

    @cython.locals(rows="long long[:, ::1]")
    cdef int _see_event(self, Py_ssize_t who, int what) except -1

    @cython.locals(rows="long long[:, ::1]", at=Py_ssize_t)
    cdef int _keep(self, Py_ssize_t who, long long level, Py_ssize_t column, long long now) except -1

    @cython.locals(rows="long long[:, ::1]", last="long long", count="long long", follows=bint)
    cdef void _see_run(self, Py_ssize_t who, Py_ssize_t group, long long address, long long size) except *

    @cython.locals(rows="long long[:, ::1]")
    cdef int _end_run(self, Py_ssize_t who, Py_ssize_t group) except -1

    @cython.locals(is_end=bint)
    cdef int _see_uneven(self, Py_ssize_t who, Py_ssize_t group, long long address, long long size) except -1

    @cython.locals(
        rows="long long[:, ::1]", count="long long", address="long long", size="long long", odd="long long", inner="long long",
        is_whole=bint, ends=bint, is_odd=bint, is_lone=bint, column=Py_ssize_t, listed="long long", at=Py_ssize_t, field=Py_ssize_t,
    )
    cdef void _sort(self, Py_ssize_t who, Py_ssize_t group) except *

    @cython.locals(number=Py_ssize_t, at=Py_ssize_t, column=Py_ssize_t, who=Py_ssize_t, lone="long long")
    cpdef join(self, Accesses later, long long ticks)

    @cython.locals(number=Py_ssize_t, at=Py_ssize_t, column=Py_ssize_t, reach="long long")
    cdef int _join_pages(self, Table table, Table later, long long ticks) except -1

    @cython.locals(rows="long long[:, ::1]", behind="long long[:, ::1]", column=Py_ssize_t, field=Py_ssize_t)
    cdef int _join_requester(self, Py_ssize_t who, Accesses later, Py_ssize_t number, long long ticks) except -1

    @cython.locals(rows="long long[:, ::1]", behind="long long[:, ::1]", column=Py_ssize_t, front=int, address="long long")
    cdef void _join_writes(self, Py_ssize_t who, Accesses later, Py_ssize_t number) except *

    @cython.locals(rows="long long[:, ::1]", behind="long long[:, ::1]", count="long long", field=Py_ssize_t)
    cdef void _join_head(self, Py_ssize_t who, Py_ssize_t group, Accesses later, Py_ssize_t number) except *

    @cython.locals(
        rows="long long[:, ::1]", behind="long long[:, ::1]", level="long long", lowest="long long", step="long long", at=Py_ssize_t,
    )
    cdef int _join_levels(self, Py_ssize_t who, Accesses later, Py_ssize_t number, long long ticks) except -1

    @cython.locals(rows="long long[:, ::1]", who=Py_ssize_t)
    cpdef close(self)

    @cython.locals(
        front="long long[:, ::1]", rows="long long[:, ::1]", address="long long", size="long long", key="long long", at=Py_ssize_t,
        first="long long", last="long long", count="long long",
    )
    cdef void _see_first_of_all(self, Py_ssize_t who) except *
