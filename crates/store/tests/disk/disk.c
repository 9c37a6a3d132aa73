/* A disk that can fail, for tests: preloaded into a process, it stands between SQLite and the files of one folder.
 *
 * LANAI_DISK_FOLDER  the folder
 * LANAI_DISK_CUT_AT  the number of the write at which the power goes: what was written since the last sync of each file is kept, torn or
 *                    lost by chance, and the process ends at once
 * LANAI_DISK_SEED    the chance
 *
 * While the file "full" is in the folder, writes fail for want of room; while "broken" is there, syncs fail.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILES 4096
#define SECTOR 512

struct change {
    struct change *next;
    struct change *before;
    dev_t device;
    ino_t inode;
    int fd;
    off_t offset;
    size_t length;
    off_t old_size;
    off_t new_size; /* of a truncation; -1 for a write */
    char *old;
    size_t old_length;
    char *new;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char tracked[FILES];
static struct change *newest;
static long writes, cut_at;
static uint64_t chance;
static const char *folder;
static size_t folder_length;

static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off_t);
static int (*real_close)(int);
static int (*real_open)(const char *, int, ...);

__attribute__((constructor)) static void begin(void) {
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_pread = dlsym(RTLD_NEXT, "pread64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_close = dlsym(RTLD_NEXT, "close");
    real_open = dlsym(RTLD_NEXT, "open64");
    folder = getenv("LANAI_DISK_FOLDER");
    folder_length = folder ? strlen(folder) : 0;
    cut_at = getenv("LANAI_DISK_CUT_AT") ? atol(getenv("LANAI_DISK_CUT_AT")) : 0;
    chance = getenv("LANAI_DISK_SEED") ? (uint64_t)atol(getenv("LANAI_DISK_SEED")) : 1;
}

static uint64_t roll(void) {
    chance += 0x9e3779b97f4a7c15u;
    uint64_t mixed = chance;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

static int there(const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static int is_tracked(int fd) { return fd >= 0 && fd < FILES && tracked[fd]; }

static struct change *note(int fd, off_t offset, size_t length) {
    struct stat found;
    struct change *change = calloc(1, sizeof *change);
    fstat(fd, &found);
    change->device = found.st_dev;
    change->inode = found.st_ino;
    change->fd = dup(fd);
    change->offset = offset;
    change->length = length;
    change->old_size = found.st_size;
    change->new_size = -1;
    change->old = malloc(length ? length : 1);
    ssize_t read = real_pread(fd, change->old, length, offset);
    change->old_length = read > 0 ? (size_t)read : 0;
    change->before = newest;
    if (newest) newest->next = change;
    newest = change;
    return change;
}

/* Undoes all that was not synced, then does a part of it again. */
static void cut(void) {
    struct change *change, *oldest = NULL;
    for (change = newest; change; change = change->before) {
        oldest = change;
        real_ftruncate(change->fd, change->old_size);
        real_pwrite(change->fd, change->old, change->old_length, change->offset);
        real_ftruncate(change->fd, change->old_size);
    }
    for (change = oldest; change; change = change->next) {
        uint64_t fate = roll() % 4;
        if (fate == 0) continue;
        if (change->new_size >= 0) {
            real_ftruncate(change->fd, change->new_size);
            continue;
        }
        size_t length = change->length;
        if (fate == 1) length = roll() % (length / SECTOR + 1) * SECTOR;
        real_pwrite(change->fd, change->new, length, change->offset);
    }
    syscall(SYS_exit_group, 137);
}

static ssize_t tracked_write(int fd, const void *data, size_t length, off_t offset) {
    if (there("full")) {
        errno = ENOSPC;
        return -1;
    }
    pthread_mutex_lock(&lock);
    struct change *change = note(fd, offset, length);
    change->new = malloc(length ? length : 1);
    memcpy(change->new, data, length);
    ssize_t done = real_pwrite(fd, data, length, offset);
    if (++writes == cut_at) cut();
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) {
    return is_tracked(fd) ? tracked_write(fd, data, length, offset) : real_pwrite(fd, data, length, offset);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

static void settle(int fd) {
    struct stat found;
    fstat(fd, &found);
    pthread_mutex_lock(&lock);
    struct change *change = newest;
    while (change) {
        struct change *before = change->before;
        if (change->device == found.st_dev && change->inode == found.st_ino) {
            if (change->before) change->before->next = change->next;
            if (change->next) change->next->before = change->before;
            if (change == newest) newest = change->before;
            real_close(change->fd);
            free(change->old);
            free(change->new);
            free(change);
        }
        change = before;
    }
    pthread_mutex_unlock(&lock);
}

static int synced(int fd, int (*real)(int)) {
    if (!is_tracked(fd)) return real(fd);
    if (there("broken")) {
        errno = EIO;
        return -1;
    }
    int done = real(fd);
    if (done == 0) settle(fd);
    return done;
}

int fsync(int fd) { return synced(fd, real_fsync); }

int fdatasync(int fd) { return synced(fd, real_fdatasync); }

int ftruncate64(int fd, off_t size) {
    if (!is_tracked(fd)) return real_ftruncate(fd, size);
    pthread_mutex_lock(&lock);
    struct stat found;
    fstat(fd, &found);
    struct change *change = note(fd, size, found.st_size > size ? (size_t)(found.st_size - size) : 0);
    change->new_size = size;
    int done = real_ftruncate(fd, size);
    pthread_mutex_unlock(&lock);
    return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int follow(int fd, const char *path) {
    if (fd < 0 || fd >= FILES || !folder) return fd;
    size_t length = strlen(path);
    int inside = strncmp(path, folder, folder_length) == 0;
    /* The index of the log is shared memory, made anew after a crash. */
    int is_index = length > 4 && strcmp(path + length - 4, "-shm") == 0;
    tracked[fd] = inside && !is_index;
    return fd;
}

int open64(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    return follow(real_open(path, flags, mode), path);
}

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    return follow(real_open(path, flags, mode), path);
}

int close(int fd) {
    if (fd >= 0 && fd < FILES) tracked[fd] = 0;
    return real_close(fd);
}
