/* SPDX-License-Identifier: MIT */
#include "libgradprof/core/run_meta.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "libgradprof/core/event.h"

#define VALUE_BYTES_MAX 8000u /* a longer command line is cut */

void gp_run_meta_put(struct gp_thread *thread, const char *key, const char *value)
{
    char payload[VALUE_BYTES_MAX + 64];
    struct gp_record record = {.type = GP_EV_META};
    size_t key_bytes = strlen(key) + 1, value_bytes = strnlen(value, VALUE_BYTES_MAX);

    memcpy(payload, key, key_bytes);
    memcpy(payload + key_bytes, value, value_bytes);
    record.length = (uint32_t)(key_bytes + value_bytes);
    gp_event_payload(thread, &record, payload, record.length);
}

/* The arguments, joined by blanks. */
static void put_arguments(struct gp_thread *thread)
{
    char text[VALUE_BYTES_MAX];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length;

    if (fd < 0)
        return;
    length = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (length <= 0)
        return;
    for (ssize_t i = 0; i < length - 1; i++)
        if (text[i] == 0)
            text[i] = ' ';
    text[length] = 0;
    gp_run_meta_put(thread, "argv", text);
}

static void put_settings(struct gp_thread *thread)
{
    char text[128];

    snprintf(text, sizeof(text), "%u", gp_session.depth);
    gp_run_meta_put(thread, "stack_depth", text);
    gp_run_meta_put(thread, "log", gp_session.log.backing == GP_LOG_FILE ? "file" : "memory");
    snprintf(text, sizeof(text), "%d", gp_session.forked);
    gp_run_meta_put(thread, "forked", text);
    snprintf(text, sizeof(text), "%ld", (long)getppid());
    gp_run_meta_put(thread, "parent_pid", text);
}

void gp_run_meta_write(struct gp_thread *thread, const char *unwinder)
{
    char text[4096];
    struct utsname system;
    ssize_t length;

    put_arguments(thread);
    length = readlink("/proc/self/exe", text, sizeof(text) - 1);
    if (length > 0) {
        text[length] = 0;
        gp_run_meta_put(thread, "executable", text);
    }
    if (getcwd(text, sizeof(text)) != NULL)
        gp_run_meta_put(thread, "cwd", text);
    if (uname(&system) == 0) {
        gp_run_meta_put(thread, "host", system.nodename);
        snprintf(text, sizeof(text), "%s %s", system.sysname, system.release);
        gp_run_meta_put(thread, "system", text);
    }
    gp_run_meta_put(thread, "version", GP_VERSION);
    gp_run_meta_put(thread, "unwinder", unwinder);
    put_settings(thread);
}
