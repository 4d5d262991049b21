/* SPDX-License-Identifier: MIT */
/* late LIBGRADPROF.SO: opens the library at run time, when little static TLS is left, and uses it. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    void (*create)(const void *, const char *);

    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    create = (void (*)(const void *, const char *))dlsym(library, "gradprof_node_create");
    create(&library, "LateNode");
    return 0;
}
