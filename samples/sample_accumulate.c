/* SPDX-License-Identifier: MIT */
/*
 * A loop that adds up the network's outputs. Each output remembers the graph it came from, so the sum
 * remembers all of them: on 8 GiB the third iteration is refused. With --detach=on it runs for ever.
 *
 *     y_sum = 0
 *     for i in range(10):
 *         x = torch.randn(1024, 3, 224, 224, device="cuda")
 *         y = net(x)
 *         y_sum = y_sum + y              # --detach=on: y_sum + y.detach()
 *         del y
 *         print(f"{memory_allocated() / 1024**3:.2f} GB")
 */
#include "samples/common.h"

int main(int argc, char **argv)
{
    struct sample sample = {.options = {.batch = 1024,
                                        .iterations = 10,
                                        .detach = false,
                                        .ag = {.memory_bytes = (size_t)8 << 30}}};
    ag_tensor *x = NULL, *y = NULL, *y_sum = NULL;

    sample_parse(argc, argv, "Add up the outputs of AlexNet, with or without their graphs.",
                 &sample.options);
    if (sample_start(&sample)) {
        ag_assign(y_sum, ag_scalar(sample.context, 0));
        for (int64_t i = 0; i < sample.options.iterations; i++) {
            sample_step_begin(&sample);
            ag_assign(x, sample_batch(&sample));
            ag_assign(y, ag_alexnet_forward(sample.net, x));
            if (sample.options.detach)
                ag_assign(y, ag_detach(y));
            ag_assign(y_sum, ag_add(y_sum, y));
            ag_assign(y, NULL);
            if (!sample_step_end(&sample))
                break;
        }
    }
    ag_release(y_sum);
    ag_release(x);
    return sample_finish(&sample);
}
