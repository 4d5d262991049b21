/* SPDX-License-Identifier: MIT */
/* scopes [use]: annotates scopes and steps; touches the device only if told to, inside both. */
#include <gradprof/gradprof.h>

#include "tests/preload/hosts/cuda.h"

int main(int argc, char **argv)
{
    int node, input, handle;
    void *address = &node;
    char long_name[2000];

    for (size_t i = 0; i < sizeof(long_name); i++)
        long_name[i] = 'n';
    long_name[sizeof(long_name) - 1] = 0;
    gradprof_step_begin("outer");
    gradprof_step_begin("inner");
    gradprof_scope_push(GRADPROF_SCOPE_MODULE, "features.0");
    gradprof_scope_push(GRADPROF_SCOPE_OP, "Conv");
    if (argc > 1) {
        cudaMalloc(&address, 1000);
        gradprof_storage_role(address, GRADPROF_ROLE_INPUT, "x");
        gradprof_node_create(&node, "ConvBackward0");
        gradprof_node_create(&input, "AccumulateGrad");
        gradprof_node_input(&node, 1, &input);
        gradprof_save(&node, "input", address, &input);
        gradprof_handle_create(&handle, "y", address, &node);
        gradprof_handle_name(&handle, long_name);
        gradprof_handle_node(&handle, 0);
        gradprof_release(&node, "input");
        gradprof_node_backward(&node);
        gradprof_refused(1, 12345, "--memory 1 GiB");
        gradprof_handle_destroy(&handle);
        gradprof_node_destroy(&node);
    }
    gradprof_scope_pop();
    gradprof_scope_pop();
    gradprof_scope_pop(); /* one too many */
    gradprof_step_end();
    gradprof_step_end();
    gradprof_step_end(); /* one too many */
    return 0;
}
