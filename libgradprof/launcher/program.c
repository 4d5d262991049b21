/* SPDX-License-Identifier: MIT */
/* What kind of program is it: can a library be preloaded into it? */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "libgradprof/launcher/launcher.h"

#define INTERPRETERS_MAX 4 /* of #! scripts; the kernel's own limit */

static int check_executable(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EACCES;
    return access(path, X_OK) == 0 ? 0 : -errno;
}

int gp_program_find(const char *name, char *ret_path, size_t size)
{
    const char *directory = getenv("PATH");
    int result = -ENOENT;

    if (strchr(name, '/') != NULL) {
        if (strlen(name) >= size)
            return -ENAMETOOLONG;
        strcpy(ret_path, name);
        return check_executable(name);
    }
    if (directory == NULL)
        directory = "/usr/local/bin:/usr/bin:/bin";
    for (const char *end; directory != NULL; directory = *end ? end + 1 : NULL) {
        end = directory + strcspn(directory, ":");
        int length = (int)(end - directory);
        if ((size_t)snprintf(ret_path, size, "%.*s%s%s", length, directory, length ? "/" : "./",
                             name) >= size)
            continue;
        int r = check_executable(ret_path);
        if (r == 0)
            return 0;
        if (r == -EACCES)
            result = r;
    }
    return result;
}

/* PT_INTERP names the loader; without one nothing reads LD_PRELOAD. */
static int has_loader(int fd, const Elf64_Ehdr *header)
{
    Elf64_Phdr segment;

    for (int i = 0; i < header->e_phnum; i++) {
        off_t offset = (off_t)(header->e_phoff + (size_t)i * header->e_phentsize);
        if (pread(fd, &segment, sizeof(segment), offset) != (ssize_t)sizeof(segment))
            return 1; /* not for us to judge */
        if (segment.p_type == PT_INTERP)
            return 1;
    }
    return 0;
}

static const char *elf_obstacle(int fd, const Elf64_Ehdr *header)
{
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64)
        return "it is not an x86-64 program";
    if (!has_loader(fd, header))
        return "it is a static executable, which reads no LD_PRELOAD";
    return NULL;
}

static const char *privilege_obstacle(const char *path, const struct stat *status)
{
    if ((status->st_mode & S_ISUID) != 0 && status->st_uid != geteuid())
        return "it is setuid, and the loader ignores LD_PRELOAD for such programs";
    if ((status->st_mode & S_ISGID) != 0 && (status->st_mode & S_IXGRP) != 0 &&
        status->st_gid != getegid())
        return "it is setgid, and the loader ignores LD_PRELOAD for such programs";
    if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        return "it has file capabilities, and the loader ignores LD_PRELOAD for such programs";
    return NULL;
}

static const char *obstacle(const char *path, int depth)
{
    union {
        Elf64_Ehdr elf;
        char text[256];
    } head = {.text = ""};
    const char *result;
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return NULL; /* executable but not readable: execve will tell */
    ssize_t length = read(fd, head.text, sizeof(head.text) - 1);
    result = fstat(fd, &status) == 0 ? privilege_obstacle(path, &status) : NULL;
    if (result == NULL && length >= (ssize_t)sizeof(head.elf) &&
        memcmp(head.elf.e_ident, ELFMAG, SELFMAG) == 0)
        result = elf_obstacle(fd, &head.elf);
    close(fd);
    if (result == NULL && length > 2 && memcmp(head.text, "#!", 2) == 0 && depth > 0) {
        char *interpreter = head.text + 2 + strspn(head.text + 2, " \t");
        interpreter[strcspn(interpreter, " \t\n")] = 0;
        return obstacle(interpreter, depth - 1);
    }
    return result;
}

const char *gp_program_obstacle(const char *path)
{
    return obstacle(path, INTERPRETERS_MAX);
}
