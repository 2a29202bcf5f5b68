/* A program's clocks in the hand of a harness, loaded with LD_PRELOAD (P9).
 *
 * The file that CHAOS_CLOCK names holds four 64-bit numbers, which the harness may change at any time:
 *   [0] how many times as fast as the machine's time passes
 *   [1] [2] the wall clock and the steady clock, in nanoseconds, at which that began
 *   [3] how far the wall clock is off, in nanoseconds: a jump is a change of this number
 * Waits of the event loop and of threads for each other are put into the machine's time, so that leases and limits pass
 * in that of the program. What waits in the kernel or in SQLite for somebody else waits as long as that takes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

static const volatile int64_t *page;
static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_epoll_wait)(int, struct epoll_event *, int, int);
static long (*real_syscall)(long, ...);

__attribute__((constructor)) static void begin(void) {
    real_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    real_epoll_wait = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
    real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    const char *path = getenv("CHAOS_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    /* A program that runs on the machine's time by mistake would prove nothing. */
    if (mapped == MAP_FAILED || !real_gettime || !real_epoll_wait || !real_syscall)
        abort();
    close(file);
    page = mapped;
}

static int64_t shown(clockid_t clock, int64_t now) {
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        return page[1] + (now - page[1]) * page[0] + page[3];
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
        return page[2] + (now - page[2]) * page[0];
    default:
        return now;
    }
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    /* Before the constructor ran, nothing of the program has. */
    int failed = real_gettime ? real_gettime(clock, at) : -1;
    if (failed == 0 && page) {
        int64_t now = shown(clock, at->tv_sec * SECOND + at->tv_nsec);
        at->tv_sec = now / SECOND;
        at->tv_nsec = now % SECOND;
    }
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int ms) {
    if (ms > 0)
        ms = (int)((ms + page[0] - 1) / page[0]);
    return real_epoll_wait(epoll, events, most, ms);
}

/* Rust's threads wait for each other with this: until a time of the steady clock, or for so long. */
long syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    const struct timespec *time = (const struct timespec *)a[3];
    int operation = (int)a[1] & FUTEX_CMD_MASK, of_wall = (int)a[1] & FUTEX_CLOCK_REALTIME;
    int waits = number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
    struct timespec real;
    /* What is longer than nanoseconds can count is for ever. */
    if (waits && time && page && time->tv_sec < INT64_C(4000000000)) {
        int64_t ns = time->tv_sec * SECOND + time->tv_nsec;
        if (operation == FUTEX_WAIT)
            ns /= page[0];
        else if (of_wall)
            ns = page[1] + (ns - page[3] - page[1]) / page[0];
        else
            ns = page[2] + (ns - page[2]) / page[0];
        if (ns < 0)
            ns = 0;
        real.tv_sec = ns / SECOND;
        real.tv_nsec = ns % SECOND;
        a[3] = (long)&real;
    }
    return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
