/* SPDX-License-Identifier: MIT */
#include "viewer/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "viewer/names.h"

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void copy_trimmed(const char *line, char *ret_text, size_t size)
{
    while (is_blank(*line))
        line++;
    size_t length = strlen(line);
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    char *clean = gv_clean(line);
    if (clean && strlen(clean) >= length && length < size) {
        clean[length] = '\0';
        snprintf(ret_text, size, "%s", clean);
    }
    free(clean);
}

void gv_source_line(const char *file, uint32_t line, uint64_t not_after_ns, char *ret_text,
                    size_t size)
{
    ret_text[0] = '\0';
    struct stat status;
    if (!file || line == 0 || stat(file, &status) < 0 || !S_ISREG(status.st_mode))
        return;
    uint64_t changed_ns =
        (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    FILE *stream = not_after_ns && changed_ns > not_after_ns ? NULL : fopen(file, "r");
    if (!stream)
        return;
    char *text = NULL;
    size_t room = 0;
    ssize_t length = -1;
    for (uint32_t i = 0; i < line; i++) {
        length = getline(&text, &room, stream);
        if (length < 0)
            break;
    }
    if (length > 0)
        copy_trimmed(text, ret_text, size);
    free(text);
    fclose(stream);
}

const char *gv_source_short(const char *file)
{
    char folder[4096];
    if (!getcwd(folder, sizeof(folder)))
        return file;
    size_t length = strlen(folder);
    return strncmp(file, folder, length) == 0 && file[length] == '/' ? file + length + 1 : file;
}

const char *gv_source_base(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}
