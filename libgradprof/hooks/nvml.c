/* SPDX-License-Identifier: MIT */
/* NVIDIA's management library, loaded when the first account of a device is read. */
#include "libgradprof/hooks/nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "libgradprof/hooks/driver.h"
#include "libgradprof/hooks/loader.h"
#include "libgradprof/log/format.h"

#define PROCESSES_MAX 64u
#define UUID_TEXT_BYTES 64u

struct process { /* nvmlProcessInfo_v2_t */
    unsigned int pid;
    unsigned long long used_bytes;
    unsigned int instance_id, compute_id;
};

static struct {
    int (*init)(void);
    int (*by_uuid)(const char *uuid, void **ret_device);
    int (*processes)(void *device, unsigned int *count, struct process *ret_processes);
} nvml;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool usable;

static void load(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (library == NULL)
        return;
    nvml.init = (int (*)(void))gp_dlsym(library, "nvmlInit_v2");
    nvml.by_uuid = (int (*)(const char *, void **))gp_dlsym(library, "nvmlDeviceGetHandleByUUID");
    nvml.processes = (int (*)(void *, unsigned int *, struct process *))gp_dlsym(
        library, "nvmlDeviceGetComputeRunningProcesses_v3");
    usable =
        nvml.init != NULL && nvml.by_uuid != NULL && nvml.processes != NULL && nvml.init() == 0;
}

/* As NVML writes it: GPU-8-4-4-4-12 hexadecimal digits. */
static void uuid_text(const struct gp_cu_uuid *uuid, char *ret_text)
{
    size_t length = (size_t)snprintf(ret_text, UUID_TEXT_BYTES, "GPU-");

    for (unsigned i = 0; i < sizeof(uuid->bytes); i++)
        length += (size_t)snprintf(ret_text + length, UUID_TEXT_BYTES - length, "%s%02x",
                                   i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                   (unsigned char)uuid->bytes[i]);
}

static uint64_t others_of(const struct process *processes, unsigned int count)
{
    uint64_t others = 0;
    bool seen = false;

    for (unsigned int i = 0; i < count; i++) {
        if (processes[i].pid == (unsigned int)getpid())
            seen = true;
        else if (processes[i].used_bytes != GP_UNKNOWN_BYTES)
            others += processes[i].used_bytes;
    }
    return seen ? others : GP_UNKNOWN_BYTES;
}

uint64_t gp_nvml_others(int device)
{
    struct process processes[PROCESSES_MAX];
    unsigned int count = PROCESSES_MAX;
    char text[UUID_TEXT_BYTES];
    struct gp_cu_uuid uuid;
    void *handle;

    pthread_once(&once, load);
    if (!usable || gp_real_cuDeviceGetUuid_v2()(&uuid, device) != GP_CU_SUCCESS)
        return GP_UNKNOWN_BYTES;
    uuid_text(&uuid, text);
    if (nvml.by_uuid(text, &handle) != 0 || nvml.processes(handle, &count, processes) != 0)
        return GP_UNKNOWN_BYTES;
    return others_of(processes, count);
}
