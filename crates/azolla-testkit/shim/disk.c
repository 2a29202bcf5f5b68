/* A disk that fails, for a program that knows nothing of it: loaded with LD_PRELOAD, it stands between the program and
 * libc for what writes, names and syncs files. shim.rs compiles it and sets its variables:
 *
 *   DISK_UNDER    paths that begin with this are concerned, no others
 *   DISK_COUNTER  a file of 64-bit numbers, shared by all processes: boundaries, faults, then operations of each kind
 *   DISK_FAULT    enospc, eio, fsync, short or kill: which operations are boundaries, and what happens at one
 *   DISK_AT       the boundary that it happens at, from 1; 0 only counts
 *   DISK_STICKY   1: at every later boundary too
 *   DISK_LOG      a file to which everything done to those paths is appended, and what the program says
 *   DISK_LATER    seconds that the wall clock is ahead
 *
 * The real calls are made by syscall(2), so nothing has to be looked up and no call of ours comes back here. What libc
 * calls inside itself (stdio, mkstemp) and what is written through a mapping is not seen. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 1, SIZE = 2, NAME = 4, GONE = 8, SYNC = 16 }; /* What an operation does: a fault concerns some of them. */
enum { DONE = 0, HALF = -1 }; /* How a boundary ends: done, cut in half, or an errno. */
enum { LOG_MADE = 'C', LOG_WROTE = 'W', LOG_SIZED = 'T', LOG_SYNCED = 'S', LOG_UNSYNCED = 'F', LOG_MOVED = 'R', LOG_GONE = 'U', LOG_SAID = 'A' }; /* As image.rs reads them. */

static struct { _Atomic uint64_t boundaries, faults, kinds[5]; } *counter;
static const char *under;
static size_t under_length;
static uint64_t fault_at;
static int boundary_kinds, fault_errno, is_short, is_kill, is_sticky, log_fd = -1;
static pid_t owner;
static time_t later;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER; /* Held over an operation and its line, as the lock of the log is. */

__attribute__((constructor)) static void begin(void) {
    const char *value = getenv("DISK_LATER"), *fault = getenv("DISK_FAULT");
    later = value ? atol(value) : 0;
    if (!(value = getenv("DISK_UNDER"))) return;
    under = value, under_length = strlen(value);
    owner = getpid();
    if ((value = getenv("DISK_LOG"))) log_fd = (int)syscall(SYS_openat, AT_FDCWD, value, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (!(value = getenv("DISK_COUNTER"))) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, value, O_RDWR | O_CLOEXEC);
    counter = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (counter == MAP_FAILED) abort(); /* A harness that injects nothing must not pass for one that found nothing. */
    if (!fault) fault = "";
    is_short = !strcmp(fault, "short"), is_kill = !strcmp(fault, "kill");
    fault_errno = !strcmp(fault, "enospc") || is_short ? ENOSPC : EIO;
    boundary_kinds = is_short ? BYTES : is_kill ? ~0 : !strcmp(fault, "fsync") ? SYNC : fault_errno == ENOSPC ? BYTES | SIZE | NAME : BYTES | SIZE | NAME | GONE;
    fault_at = (value = getenv("DISK_AT")) ? strtoull(value, NULL, 10) : 0;
    is_sticky = (value = getenv("DISK_STICKY")) && *value == '1';
}

/* Puts the path of an open file into `path`; tells whether it is one of those. */
static int is_concerned_fd(int fd, char path[PATH_MAX]) {
    char link[64];
    if (!under) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    return !strncmp(path, under, under_length);
}

/* The same for a name, which may be relative to a directory. */
static int is_concerned(int at, const char *name, char path[PATH_MAX]) {
    if (!under) return 0;
    path[0] = 0;
    if (name[0] != '/') {
        if (at != AT_FDCWD) is_concerned_fd(at, path);
        else if (syscall(SYS_getcwd, path, PATH_MAX) < 0) return 0;
        strncat(path, "/", PATH_MAX - strlen(path) - 1);
    }
    strncat(path, name, PATH_MAX - strlen(path) - 1);
    return !strncmp(path, under, under_length);
}

/* Counts a boundary and returns how the operation ends. */
static int fate(int kind) {
    if (!counter) return DONE;
    atomic_fetch_add(&counter->kinds[__builtin_ctz((unsigned)kind)], 1);
    if (!(boundary_kinds & kind)) return DONE;
    uint64_t n = atomic_fetch_add(&counter->boundaries, 1) + 1;
    if (!fault_at || n < fault_at) return DONE;
    int is_refusal = is_short && n == fault_at + 1; /* A short write is followed by what says why. */
    if (n > fault_at && !is_sticky && !is_refusal) return DONE;
    atomic_fetch_add(&counter->faults, 1);
    if (is_kill) syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    return is_short && n == fault_at ? HALF : fault_errno;
}

static int is_refused(int end) { return end > 0 ? (errno = end, 1) : 0; }

/* What was forked off has other files under the same numbers, and the lock as it happened to be. */
static int is_logging(void) { return log_fd >= 0 && syscall(SYS_getpid) == owner; }
/* Begins an operation that is to be logged; ended by `note`, which keeps the operation's errno. */
static void hold(void) {
    if (is_logging()) pthread_mutex_lock(&order), syscall(SYS_flock, log_fd, LOCK_EX);
}

static void note(char kind, const char *path, int64_t offset, const void *bytes, size_t length) {
    if (!is_logging()) return;
    int error = errno;
    if (kind) {
        struct { uint32_t kind, path_length; uint64_t offset, length; } head = {(uint32_t)kind, (uint32_t)strlen(path), (uint64_t)offset, length};
        struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.path_length}, {(void *)bytes, length}};
        if (syscall(SYS_writev, log_fd, parts, 3) < 0) abort(); /* A log with a hole in it proves nothing. */
    }
    syscall(SYS_flock, log_fd, LOCK_UN), pthread_mutex_unlock(&order);
    errno = error;
}

static int is_said(int fd) { return (fd == STDOUT_FILENO || fd == STDERR_FILENO) && is_logging(); }
/* Writes bytes at `offset`, or where the file stands if that is -1. */
static ssize_t write_by(int fd, const void *bytes, size_t length, int64_t offset) {
    return offset >= 0 ? syscall(SYS_pwrite64, fd, bytes, length, offset) : syscall(SYS_write, fd, bytes, length);
}

static ssize_t put(int fd, const void *bytes, size_t length, int64_t offset) {
    char path[PATH_MAX];
    if (is_said(fd)) {
        hold();
        note(LOG_SAID, "", (int64_t)owner << 8 | fd, bytes, length); /* Before: whoever reads it may act at once. */
    } else if (is_concerned_fd(fd, path)) {
        int end = fate(BYTES);
        if (is_refused(end)) return -1;
        if (end == HALF && length > 1) length /= 2;
        hold();
        int64_t place = offset >= 0 ? offset : syscall(SYS_lseek, fd, 0, SEEK_CUR);
        ssize_t done = write_by(fd, bytes, length, offset);
        note(done > 0 ? LOG_WROTE : 0, path, place, bytes, done > 0 ? (size_t)done : 0);
        return done;
    }
    return write_by(fd, bytes, length, offset);
}

ssize_t write(int fd, const void *bytes, size_t length) { return put(fd, bytes, length, -1); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return put(fd, bytes, length, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return put(fd, bytes, length, offset); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[PATH_MAX];
    if (!is_said(fd) && !is_concerned_fd(fd, path)) return syscall(SYS_writev, fd, parts, count);
    /* A caller goes on after a short write, so the first part that is not empty will do. */
    while (count > 1 && parts->iov_len == 0) parts++, count--;
    return put(fd, parts->iov_base, parts->iov_len, -1);
}

static int sync_by(long call, int fd) {
    char path[PATH_MAX];
    if (!is_concerned_fd(fd, path)) return (int)syscall(call, fd);
    hold();
    int done = is_refused(fate(SYNC)) ? -1 : (int)syscall(call, fd);
    note(done == 0 ? LOG_SYNCED : LOG_UNSYNCED, path, 0, "", 0);
    return done;
}

int fsync(int fd) { return sync_by(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_by(SYS_fdatasync, fd); }

int ftruncate(int fd, off_t length) {
    char path[PATH_MAX];
    if (!is_concerned_fd(fd, path)) return (int)syscall(SYS_ftruncate, fd, length);
    if (is_refused(fate(SIZE))) return -1;
    hold();
    int done = (int)syscall(SYS_ftruncate, fd, length);
    note(done == 0 ? LOG_SIZED : 0, path, length, "", 0);
    return done;
}
int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

static int open_by(int at, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    /* Only what makes a file is a boundary; what is there is opened. */
    int makes = (flags & O_CREAT) && is_concerned(at, name, path) && syscall(SYS_faccessat, at, name, F_OK) != 0;
    if (!makes) return (int)syscall(SYS_openat, at, name, flags, mode);
    if (is_refused(fate(NAME))) return -1;
    hold();
    int fd = (int)syscall(SYS_openat, at, name, flags, mode);
    note(fd >= 0 ? LOG_MADE : 0, path, 0, "", 0);
    return fd;
}

/* The mode is there only where a file may be made. */
#define OPEN(at) \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    return open_by(at, name, flags, mode);

int open(const char *name, int flags, ...) { OPEN(AT_FDCWD) }
int open64(const char *name, int flags, ...) { OPEN(AT_FDCWD) }
int openat(int at, const char *name, int flags, ...) { OPEN(at) }
int openat64(int at, const char *name, int flags, ...) { OPEN(at) }

int rename(const char *from, const char *to) {
    char path[PATH_MAX], into[PATH_MAX];
    if (!(is_concerned(AT_FDCWD, from, path) | is_concerned(AT_FDCWD, to, into))) return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (is_refused(fate(NAME))) return -1;
    hold();
    int done = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    note(done == 0 ? LOG_MOVED : 0, path, 0, into, strlen(into));
    return done;
}

static int unlink_by(int at, const char *name, int flags) {
    char path[PATH_MAX];
    if (!is_concerned(at, name, path)) return (int)syscall(SYS_unlinkat, at, name, flags);
    if (is_refused(fate(GONE))) return -1;
    hold();
    int done = (int)syscall(SYS_unlinkat, at, name, flags);
    note(done == 0 ? LOG_GONE : 0, path, 0, "", 0);
    return done;
}

int unlink(const char *name) { return unlink_by(AT_FDCWD, name, 0); }
int unlinkat(int at, const char *name, int flags) { return unlink_by(at, name, flags); }
int rmdir(const char *name) { return unlink_by(AT_FDCWD, name, AT_REMOVEDIR); }

static int fate_of(const char *name) {
    char path[PATH_MAX];
    return is_concerned(AT_FDCWD, name, path) ? fate(NAME) : DONE;
}

int mkdir(const char *name, mode_t mode) {
    return is_refused(fate_of(name)) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, name, mode);
}
int link(const char *from, const char *to) {
    return is_refused(fate_of(to)) ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Leases and waits of a run that was cut off are over by then. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    int done = (int)syscall(SYS_clock_gettime, clock, now);
    if (done == 0 && clock == CLOCK_REALTIME) now->tv_sec += later;
    return done;
}
