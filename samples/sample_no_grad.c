/* SPDX-License-Identifier: MIT */
/*
 * One forward pass that records no graph at all: what is not needed goes while the network runs.
 *
 *     with torch.no_grad():
 *         x = torch.randn(1024, 3, 224, 224, device="cuda")
 *         y = net(x)
 *     print(f"{memory_allocated() / 1024**3:.2f} GB")
 */
#include "samples/common.h"

int main(int argc, char **argv)
{
    struct sample sample = {.options = {.batch = 1024, .iterations = 1}};
    ag_tensor *x = NULL, *y = NULL;

    sample_parse(argc, argv, "Run AlexNet once without recording a graph.", &sample.options);
    if (sample_start(&sample)) {
        for (int64_t i = 0; i < sample.options.iterations; i++) {
            sample_step_begin(&sample);
            ag_no_grad_begin(sample.context);
            ag_assign(x, sample_batch(&sample));
            ag_assign(y, ag_alexnet_forward(sample.net, x));
            ag_no_grad_end(sample.context);
            if (!sample_step_end(&sample))
                break;
        }
    }
    ag_release(y);
    ag_release(x);
    return sample_finish(&sample);
}
