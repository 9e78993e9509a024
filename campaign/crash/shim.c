/* Counts the system calls of a process on files below one folder, and kills the process or fails the call at one of them.
 *
 * Loaded with LD_PRELOAD: every function here wraps the one of libc with the same name. The control functions are called through
 * ctypes. Only the process that armed the library is counted; its children are not.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT, KILL, ERROR, FULL, SHORT };       /* FULL: from this call on, nothing more can be stored */
enum { OPEN, CREATE, READ, WRITE, SYNC, CLOSE, NAME, REMOVE, META };

static struct {
	pid_t pid;
	int mode;
	long at;
	int error;
	int reads;
	int log;
	char folder[PATH_MAX];
	char quiet[PATH_MAX];           /* reads below this folder are not counted, except those of tune attributes */
} plan;
static atomic_long calls;

/* What the wrapper of one call has to do. */
struct verdict {
	int fail;
	int error;
	int half;
};

#define REAL(type, name, ...) \
	static type (*real)(__VA_ARGS__); \
	if (!real) \
		real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

void ptttool_arm(int mode, long at, int error, int reads, int log, const char *folder, const char *quiet)
{
	plan.mode = mode;
	plan.at = at;
	plan.error = error;
	plan.reads = reads;
	plan.log = log;
	snprintf(plan.folder, sizeof plan.folder, "%s", folder);
	snprintf(plan.quiet, sizeof plan.quiet, "%s", quiet);
	atomic_store(&calls, 0);
	plan.pid = getpid();
}

long ptttool_disarm(void)
{
	plan.pid = 0;
	return atomic_load(&calls);
}

static int armed(void)
{
	return plan.pid && plan.pid == getpid();
}

static int path_of(int fd, char *into, size_t size)
{
	char link[64];
	ssize_t length;

	if (fd == AT_FDCWD)
		return getcwd(into, size) != NULL;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, into, size - 1);
	if (length < 0)
		return 0;
	into[length] = 0;
	return 1;
}

static int full_path(int folder, const char *path, char *into, size_t size)
{
	size_t length;

	if (!path)
		return 0;
	if (path[0] == '/') {
		snprintf(into, size, "%s", path);
		return 1;
	}
	if (!path_of(folder, into, size))
		return 0;
	length = strlen(into);
	snprintf(into + length, size - length, "/%s", path);
	return 1;
}

static int is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	return length && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

/* Count a call on a path. READ and OPEN only look. */
static struct verdict judge(const char *name, int kind, const char *path, long size)
{
	struct verdict verdict = { 0, 0, 0 };
	int looks = kind == OPEN || kind == READ;
	char line[PATH_MAX + 128];
	long now;
	int due, length;

	if (!is_below(path, plan.folder))
		return verdict;
	if (looks && (!plan.reads || (is_below(path, plan.quiet) && !strstr(path, "/tune/"))))
		return verdict;
	now = atomic_fetch_add(&calls, 1) + 1;
	due = now == plan.at;
	if (plan.mode == COUNT || due) {
		length = snprintf(line, sizeof line, "%ld\t%s\t%d\t%ld\t%s\n", now, name, kind, size, path);
		syscall(SYS_write, plan.log, line, (size_t)length);
	}
	switch (plan.mode) {
	case KILL:
		if (due) {
			kill(getpid(), SIGKILL);
			for (;;)
				pause();
		}
		break;
	case ERROR:
		verdict.fail = due;
		verdict.error = plan.error;
		break;
	case FULL:
		/* A sysfs is never full. */
		verdict.fail = now >= plan.at && !is_below(path, plan.quiet) && (kind == CREATE || kind == WRITE || kind == NAME || kind == SYNC);
		verdict.error = ENOSPC;
		break;
	case SHORT:
		verdict.half = due;
		break;
	}
	return verdict;
}

static struct verdict judge_path(const char *name, int kind, int folder, const char *path, long size)
{
	char full[PATH_MAX];
	struct verdict none = { 0, 0, 0 };
	int before = errno;

	if (armed() && full_path(folder, path, full, sizeof full))
		none = judge(name, kind, full, size);
	errno = before;
	return none;
}

static struct verdict judge_fd(const char *name, int kind, int fd, long size)
{
	char full[PATH_MAX];
	struct verdict none = { 0, 0, 0 };
	int before = errno;

	if (armed() && path_of(fd, full, sizeof full))
		none = judge(name, kind, full, size);
	errno = before;
	return none;
}

#define FAIL_IF(verdict) \
	do { \
		if ((verdict).fail) { \
			errno = (verdict).error; \
			return -1; \
		} \
	} while (0)

/* ---- open and close */

static int open_kind(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? CREATE : (flags & O_ACCMODE) == O_RDONLY ? OPEN : META;
}

#define OPEN_AT(symbol) \
	int symbol(int folder, const char *path, int flags, ...) \
	{ \
		REAL(int, #symbol, int, const char *, int, ...); \
		mode_t mode = 0; \
		if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
			va_list rest; \
			va_start(rest, flags); \
			mode = va_arg(rest, mode_t); \
			va_end(rest); \
		} \
		struct verdict verdict = judge_path("open", open_kind(flags), folder, path, 0); \
		FAIL_IF(verdict); \
		return real(folder, path, flags, mode); \
	}

#define OPEN_PATH(symbol) \
	int symbol(const char *path, int flags, ...) \
	{ \
		REAL(int, #symbol, const char *, int, ...); \
		mode_t mode = 0; \
		if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
			va_list rest; \
			va_start(rest, flags); \
			mode = va_arg(rest, mode_t); \
			va_end(rest); \
		} \
		struct verdict verdict = judge_path("open", open_kind(flags), AT_FDCWD, path, 0); \
		FAIL_IF(verdict); \
		return real(path, flags, mode); \
	}

OPEN_AT(openat)
OPEN_AT(openat64)
OPEN_PATH(open)
OPEN_PATH(open64)

int close(int fd)
{
	REAL(int, "close", int);
	struct verdict verdict = { 0, 0, 0 };
	int flags;

	if (armed() && (flags = fcntl(fd, F_GETFL)) >= 0)
		verdict = judge_fd("close", (flags & O_ACCMODE) == O_RDONLY ? READ : CLOSE, fd, 0);
	if (verdict.fail) { /* the descriptor is closed all the same, as Linux does */
		real(fd);
		errno = verdict.error;
		return -1;
	}
	return real(fd);
}

/* ---- read and write */

#define TRANSFER(symbol, kind, parameters, types, arguments, size) \
	ssize_t symbol parameters \
	{ \
		REAL(ssize_t, #symbol, types); \
		struct verdict verdict = judge_fd(#symbol, kind, fd, (long)(size)); \
		FAIL_IF(verdict); \
		if (verdict.half && size > 1) \
			size /= 2; \
		return real arguments; \
	}
#define COMMA ,

TRANSFER(read, READ, (int fd, void *data, size_t size), int COMMA void * COMMA size_t, (fd, data, size), size)
TRANSFER(write, WRITE, (int fd, const void *data, size_t size), int COMMA const void * COMMA size_t, (fd, data, size), size)
TRANSFER(pread, READ, (int fd, void *data, size_t size, off_t at), int COMMA void * COMMA size_t COMMA off_t, (fd, data, size, at), size)
TRANSFER(pread64, READ, (int fd, void *data, size_t size, off64_t at), int COMMA void * COMMA size_t COMMA off64_t, (fd, data, size, at), size)
TRANSFER(pwrite, WRITE, (int fd, const void *data, size_t size, off_t at), int COMMA const void * COMMA size_t COMMA off_t,
	 (fd, data, size, at), size)
TRANSFER(pwrite64, WRITE, (int fd, const void *data, size_t size, off64_t at), int COMMA const void * COMMA size_t COMMA off64_t,
	 (fd, data, size, at), size)

static long total(const struct iovec *parts, int count)
{
	long sum = 0;

	for (int each = 0; each < count; each++)
		sum += (long)parts[each].iov_len;
	return sum;
}

/* A short transfer of several parts: half of the first one. */
#define VECTOR(symbol, kind, parameters, types, whole, shorter) \
	ssize_t symbol parameters \
	{ \
		REAL(ssize_t, #symbol, types); \
		struct verdict verdict = judge_fd(#symbol, kind, fd, total(parts, count)); \
		FAIL_IF(verdict); \
		if (verdict.half && count && parts[0].iov_len > 1) { \
			struct iovec first = { parts[0].iov_base, parts[0].iov_len / 2 }; \
			return real shorter; \
		} \
		return real whole; \
	}

VECTOR(writev, WRITE, (int fd, const struct iovec *parts, int count), int COMMA const struct iovec * COMMA int, (fd, parts, count),
       (fd, &first, 1))
VECTOR(readv, READ, (int fd, const struct iovec *parts, int count), int COMMA const struct iovec * COMMA int, (fd, parts, count),
       (fd, &first, 1))
VECTOR(pwritev, WRITE, (int fd, const struct iovec *parts, int count, off_t at), int COMMA const struct iovec * COMMA int COMMA off_t,
       (fd, parts, count, at), (fd, &first, 1, at))
VECTOR(preadv, READ, (int fd, const struct iovec *parts, int count, off_t at), int COMMA const struct iovec * COMMA int COMMA off_t,
       (fd, parts, count, at), (fd, &first, 1, at))
VECTOR(pwritev64, WRITE, (int fd, const struct iovec *parts, int count, off64_t at), int COMMA const struct iovec * COMMA int COMMA off64_t,
       (fd, parts, count, at), (fd, &first, 1, at))
VECTOR(preadv64, READ, (int fd, const struct iovec *parts, int count, off64_t at), int COMMA const struct iovec * COMMA int COMMA off64_t,
       (fd, parts, count, at), (fd, &first, 1, at))
VECTOR(pwritev2, WRITE, (int fd, const struct iovec *parts, int count, off_t at, int flags),
       int COMMA const struct iovec * COMMA int COMMA off_t COMMA int, (fd, parts, count, at, flags), (fd, &first, 1, at, flags))
VECTOR(preadv2, READ, (int fd, const struct iovec *parts, int count, off_t at, int flags),
       int COMMA const struct iovec * COMMA int COMMA off_t COMMA int, (fd, parts, count, at, flags), (fd, &first, 1, at, flags))
VECTOR(preadv64v2, READ, (int fd, const struct iovec *parts, int count, off64_t at, int flags),
       int COMMA const struct iovec * COMMA int COMMA off64_t COMMA int, (fd, parts, count, at, flags), (fd, &first, 1, at, flags))
VECTOR(pwritev64v2, WRITE, (int fd, const struct iovec *parts, int count, off64_t at, int flags),
       int COMMA const struct iovec * COMMA int COMMA off64_t COMMA int, (fd, parts, count, at, flags), (fd, &first, 1, at, flags))

ssize_t copy_file_range(int from, off64_t *from_at, int fd, off64_t *at, size_t size, unsigned flags)
{
	REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
	struct verdict verdict = judge_fd("copy_file_range", WRITE, fd, (long)size);

	FAIL_IF(verdict);
	return real(from, from_at, fd, at, verdict.half && size > 1 ? size / 2 : size, flags);
}

ssize_t sendfile(int fd, int from, off_t *at, size_t size)
{
	REAL(ssize_t, "sendfile", int, int, off_t *, size_t);
	struct verdict verdict = judge_fd("sendfile", WRITE, fd, (long)size);

	FAIL_IF(verdict);
	return real(fd, from, at, verdict.half && size > 1 ? size / 2 : size);
}

ssize_t sendfile64(int fd, int from, off64_t *at, size_t size)
{
	REAL(ssize_t, "sendfile64", int, int, off64_t *, size_t);
	struct verdict verdict = judge_fd("sendfile", WRITE, fd, (long)size);

	FAIL_IF(verdict);
	return real(fd, from, at, verdict.half && size > 1 ? size / 2 : size);
}

/* ---- descriptors */

#define ON_FD(symbol, kind, parameters, types, arguments) \
	int symbol parameters \
	{ \
		REAL(int, #symbol, types); \
		struct verdict verdict = judge_fd(#symbol, kind, fd, 0); \
		FAIL_IF(verdict); \
		return real arguments; \
	}

ON_FD(fsync, SYNC, (int fd), int, (fd))
ON_FD(fdatasync, SYNC, (int fd), int, (fd))
ON_FD(ftruncate, META, (int fd, off_t size), int COMMA off_t, (fd, size))
ON_FD(ftruncate64, META, (int fd, off64_t size), int COMMA off64_t, (fd, size))
ON_FD(fchmod, META, (int fd, mode_t mode), int COMMA mode_t, (fd, mode))
ON_FD(fchown, META, (int fd, uid_t user, gid_t group), int COMMA uid_t COMMA gid_t, (fd, user, group))
ON_FD(flock, META, (int fd, int operation), int COMMA int, (fd, operation))

/* ---- names */

#define ON_PATH(symbol, name, kind, folder, parameters, types, arguments) \
	int symbol parameters \
	{ \
		REAL(int, #symbol, types); \
		struct verdict verdict = judge_path(name, kind, folder, path, 0); \
		FAIL_IF(verdict); \
		return real arguments; \
	}

ON_PATH(mkdir, "mkdir", CREATE, AT_FDCWD, (const char *path, mode_t mode), const char * COMMA mode_t, (path, mode))
ON_PATH(mkdirat, "mkdir", CREATE, folder, (int folder, const char *path, mode_t mode), int COMMA const char * COMMA mode_t,
	(folder, path, mode))
ON_PATH(rmdir, "rmdir", REMOVE, AT_FDCWD, (const char *path), const char *, (path))
ON_PATH(unlink, "unlink", REMOVE, AT_FDCWD, (const char *path), const char *, (path))
ON_PATH(unlinkat, "unlink", REMOVE, folder, (int folder, const char *path, int flags), int COMMA const char * COMMA int,
	(folder, path, flags))
ON_PATH(chmod, "chmod", META, AT_FDCWD, (const char *path, mode_t mode), const char * COMMA mode_t, (path, mode))
ON_PATH(fchmodat, "chmod", META, folder, (int folder, const char *path, mode_t mode, int flags),
	int COMMA const char * COMMA mode_t COMMA int, (folder, path, mode, flags))
ON_PATH(chown, "chown", META, AT_FDCWD, (const char *path, uid_t user, gid_t group), const char * COMMA uid_t COMMA gid_t,
	(path, user, group))
ON_PATH(fchownat, "chown", META, folder, (int folder, const char *path, uid_t user, gid_t group, int flags),
	int COMMA const char * COMMA uid_t COMMA gid_t COMMA int, (folder, path, user, group, flags))
ON_PATH(truncate, "truncate", META, AT_FDCWD, (const char *path, off_t size), const char * COMMA off_t, (path, size))
ON_PATH(truncate64, "truncate", META, AT_FDCWD, (const char *path, off64_t size), const char * COMMA off64_t, (path, size))

#define ON_TWO(symbol, name, folder, parameters, types, arguments) \
	int symbol parameters \
	{ \
		REAL(int, #symbol, types); \
		struct verdict verdict = judge_path(name, NAME, folder, to, 0); \
		FAIL_IF(verdict); \
		return real arguments; \
	}

ON_TWO(rename, "rename", AT_FDCWD, (const char *from, const char *to), const char * COMMA const char *, (from, to))
ON_TWO(renameat, "rename", folder, (int source, const char *from, int folder, const char *to),
       int COMMA const char * COMMA int COMMA const char *, (source, from, folder, to))
ON_TWO(renameat2, "renameat2", folder, (int source, const char *from, int folder, const char *to, unsigned flags),
       int COMMA const char * COMMA int COMMA const char * COMMA unsigned, (source, from, folder, to, flags))
ON_TWO(link, "link", AT_FDCWD, (const char *from, const char *to), const char * COMMA const char *, (from, to))
ON_TWO(linkat, "link", folder, (int source, const char *from, int folder, const char *to, int flags),
       int COMMA const char * COMMA int COMMA const char * COMMA int, (source, from, folder, to, flags))
ON_TWO(symlink, "symlink", AT_FDCWD, (const char *from, const char *to), const char * COMMA const char *, (from, to))
ON_TWO(symlinkat, "symlink", folder, (const char *from, int folder, const char *to), const char * COMMA int COMMA const char *,
       (from, folder, to))

/* Calls without a wrapper in libc. */
long syscall(long number, ...)
{
	REAL(long, "syscall", long, ...);
	long words[6];
	va_list rest;

	va_start(rest, number);
	for (int each = 0; each < 6; each++)
		words[each] = va_arg(rest, long);
	va_end(rest);
	if (number == SYS_renameat2) {
		struct verdict verdict = judge_path("renameat2", NAME, (int)words[2], (const char *)words[3], 0);

		FAIL_IF(verdict);
	}
	return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
