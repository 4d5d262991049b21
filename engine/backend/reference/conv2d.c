/* SPDX-License-Identifier: MIT */
#include "engine/backend/reference/maths.h"

/* One output element: the kernel laid over the padded input of sample `n` at (h, w). */
static double window(const struct ag_conv2d *conv, const float *input, const float *kernel,
                     int64_t h, int64_t w)
{
    double sum = 0;

    for (int64_t c = 0; c < conv->c_in; c++) {
        for (int64_t kh = 0; kh < conv->kernel_h; kh++) {
            for (int64_t kw = 0; kw < conv->kernel_w; kw++) {
                int64_t y = h * conv->stride_h - conv->pad_h + kh;
                int64_t x = w * conv->stride_w - conv->pad_w + kw;

                if (y < 0 || y >= conv->h_in || x < 0 || x >= conv->w_in)
                    continue;
                sum += (double)input[(c * conv->h_in + y) * conv->w_in + x] *
                       (double)kernel[(c * conv->kernel_h + kh) * conv->kernel_w + kw];
            }
        }
    }
    return sum;
}

int ref_conv2d_forward(struct ag_backend *backend, const struct ag_conv2d *conv, const float *input,
                       const float *weight, const float *bias, float *output)
{
    int64_t sample = conv->c_in * conv->h_in * conv->w_in;
    int64_t kernel = conv->c_in * conv->kernel_h * conv->kernel_w;

    for (int64_t n = 0; n < conv->n; n++)
        for (int64_t c = 0; c < conv->c_out; c++)
            for (int64_t h = 0; h < conv->h_out; h++)
                for (int64_t w = 0; w < conv->w_out; w++)
                    output[((n * conv->c_out + c) * conv->h_out + h) * conv->w_out + w] =
                        (float)(window(conv, input + n * sample, weight + c * kernel, h, w) +
                                (bias ? (double)bias[c] : 0.0));
    return AG_OK;
}
