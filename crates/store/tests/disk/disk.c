/* A disk that can fail, for tests: preloaded into a process, it stands between SQLite and the files of one folder.
 *
 * LANAI_DISK_FOLDER  the folder
 * LANAI_DISK_CUT_AT  the number of the write at which the power goes: what was written since the last sync of each file is kept, torn or
 *                    lost by chance, names that were made, changed or removed since the last sync of the folder are lost from some point
 *                    on, and the process ends at once
 * LANAI_DISK_SEED    the chance
 *
 * While the file "full" is in the folder, writes fail for want of room; while "broken" is there, syncs fail;
 * "soon" lets one sync pass, and is called "broken" from then on.
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

/* A name that was made, changed or removed. */
struct entry {
    struct entry *before;
    enum { MADE, RENAMED, REMOVED } what;
    char path[4096];
    char from[4096]; /* of what was renamed */
    char saved[4096]; /* another name of what was replaced or removed; empty if there was nothing */
};

static struct entry *newest_entry;
static long saved_names;

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
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *);

__attribute__((constructor)) static void begin(void) {
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_pread = dlsym(RTLD_NEXT, "pread64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_close = dlsym(RTLD_NEXT, "close");
    real_open = dlsym(RTLD_NEXT, "open64");
    real_write = dlsym(RTLD_NEXT, "write");
    real_rename = dlsym(RTLD_NEXT, "rename");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
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

static int is_index(const char *path) {
    /* The index of the log is shared memory, made anew after a crash. */
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, "-shm") == 0;
}

static int is_inside(const char *path) {
    return folder && strncmp(path, folder, folder_length) == 0 && !is_index(path);
}

/* Called with the lock. */
static struct entry *note_entry(int what, const char *path) {
    struct entry *entry = calloc(1, sizeof *entry);
    entry->what = what;
    snprintf(entry->path, sizeof entry->path, "%s", path);
    if (what != MADE && access(path, F_OK) == 0) {
        /* Beside the folder, so that nobody finds it. */
        snprintf(entry->saved, sizeof entry->saved, "%s.saved-%ld", folder, ++saved_names);
        if (link(path, entry->saved) != 0) entry->saved[0] = 0;
    }
    entry->before = newest_entry;
    newest_entry = entry;
    return entry;
}

static void settle_entries(void) {
    while (newest_entry) {
        struct entry *entry = newest_entry;
        newest_entry = entry->before;
        if (entry->saved[0]) real_unlink(entry->saved);
        free(entry);
    }
}

/* Names are lost in the order in which they came, from some point on. */
static void cut_entries(void) {
    long number = 0;
    for (struct entry *entry = newest_entry; entry; entry = entry->before) number++;
    long lost = number ? (long)(roll() % (uint64_t)(number + 1)) : 0;
    for (; lost > 0; lost--) {
        struct entry *entry = newest_entry;
        newest_entry = entry->before;
        if (entry->what == MADE) real_unlink(entry->path);
        if (entry->what == RENAMED) real_rename(entry->path, entry->from);
        if (entry->saved[0]) real_rename(entry->saved, entry->path);
    }
    settle_entries();
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
    cut_entries();
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

ssize_t write(int fd, const void *data, size_t length) {
    if (!is_tracked(fd)) return real_write(fd, data, length);
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t done = tracked_write(fd, data, length, offset);
    if (done > 0) lseek(fd, offset + done, SEEK_SET);
    return done;
}

int rename(const char *from, const char *to) {
    if (!is_inside(to)) return real_rename(from, to);
    pthread_mutex_lock(&lock);
    struct entry *entry = note_entry(RENAMED, to);
    snprintf(entry->from, sizeof entry->from, "%s", from);
    int done = real_rename(from, to);
    pthread_mutex_unlock(&lock);
    return done;
}

int unlink(const char *path) {
    if (!is_inside(path)) return real_unlink(path);
    pthread_mutex_lock(&lock);
    note_entry(REMOVED, path);
    int done = real_unlink(path);
    pthread_mutex_unlock(&lock);
    return done;
}

static void settle(int fd) {
    struct stat found;
    fstat(fd, &found);
    pthread_mutex_lock(&lock);
    if (S_ISDIR(found.st_mode)) settle_entries();
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
    if (there("soon")) {
        char from[4096], to[4096];
        snprintf(from, sizeof from, "%s/soon", folder);
        snprintf(to, sizeof to, "%s/broken", folder);
        real_rename(from, to);
    }
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

static int opened(const char *path, int flags, mode_t mode) {
    if (!is_inside(path)) {
        int fd = real_open(path, flags, mode);
        if (fd >= 0 && fd < FILES) tracked[fd] = 0;
        return fd;
    }
    pthread_mutex_lock(&lock);
    int is_new = (flags & O_CREAT) && access(path, F_OK) != 0;
    int fd = real_open(path, flags, mode);
    if (fd >= 0 && is_new) note_entry(MADE, path);
    if (fd >= 0 && fd < FILES) tracked[fd] = 1;
    pthread_mutex_unlock(&lock);
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
    return opened(path, flags, mode);
}

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    return opened(path, flags, mode);
}

int close(int fd) {
    if (fd >= 0 && fd < FILES) tracked[fd] = 0;
    return real_close(fd);
}
