/* SPDX-License-Identifier: MIT */
/*
 * One forward pass. With --detach=on the output forgets its graph, and the memory of every saved
 * tensor comes back; with --detach=off the graph stays as long as `y`.
 *
 *     x = torch.randn(1024, 3, 224, 224, device="cuda")
 *     y = net(x)
 *     y = y.detach()                     # --detach=off: without this line
 *     print(f"{memory_allocated() / 1024**3:.2f} GB")
 */
#include "samples/common.h"

int main(int argc, char **argv)
{
    struct sample sample = {.options = {.batch = 1024, .iterations = 1, .detach = true}};
    ag_tensor *x = NULL, *y = NULL;

    sample_parse(argc, argv, "Run AlexNet once and keep the output, with or without its graph.",
                 &sample.options);
    if (sample_start(&sample)) {
        for (int64_t i = 0; i < sample.options.iterations; i++) {
            sample_step_begin(&sample);
            ag_assign(x, sample_batch(&sample));
            ag_assign(y, ag_alexnet_forward(sample.net, x));
            if (sample.options.detach)
                ag_assign(y, ag_detach(y));
            if (!sample_step_end(&sample))
                break;
        }
    }
    ag_release(y);
    ag_release(x);
    return sample_finish(&sample);
}
