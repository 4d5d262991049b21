/* SPDX-License-Identifier: MIT */
/*
 * loads FLAG PLUGIN...: opens each CUDA user (FLAG: local, deepbind), allocates 1000, 2000, ... through
 * them, prints the addresses. Itself it knows no CUDA runtime.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int flags = RTLD_NOW | RTLD_LOCAL;

    if (strcmp(argv[1], "deepbind") == 0)
        flags |= RTLD_DEEPBIND;
    for (int i = 2; i < argc; i++) {
        void *plugin = dlopen(argv[i], flags);
        void *(*allocate)(size_t);
        if (plugin == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        allocate = (void *(*)(size_t))dlsym(plugin, "plugin_allocate");
        printf("%p\n", allocate((size_t)(i - 1) * 1000));
    }
    return 0;
}
