/* SPDX-License-Identifier: MIT */
/* Each gradient is the forward's sum, read the other way: over every (output, kernel) pair that touched
 * the element. */
#include "engine/backend/reference/maths.h"

/* The output position whose kernel element `k` lies on input position `at`; -1: there is none. */
static int64_t output_of(int64_t at, int64_t k, int64_t stride, int64_t pad, int64_t out)
{
    int64_t shifted = at + pad - k;

    return shifted < 0 || shifted % stride != 0 || shifted / stride >= out ? -1 : shifted / stride;
}

/* Over the outputs that input element (c, y, x) of one image went into. */
static double input_sum(const struct ag_conv2d *conv, const float *grad_output, const float *weight,
                        int64_t c, int64_t y, int64_t x)
{
    double sum = 0;

    for (int64_t o = 0; o < conv->c_out; o++) {
        for (int64_t kh = 0; kh < conv->kernel_h; kh++) {
            for (int64_t kw = 0; kw < conv->kernel_w; kw++) {
                int64_t h = output_of(y, kh, conv->stride_h, conv->pad_h, conv->h_out);
                int64_t w = output_of(x, kw, conv->stride_w, conv->pad_w, conv->w_out);

                if (h < 0 || w < 0)
                    continue;
                sum +=
                    (double)grad_output[(o * conv->h_out + h) * conv->w_out + w] *
                    (double)
                        weight[((o * conv->c_in + c) * conv->kernel_h + kh) * conv->kernel_w + kw];
            }
        }
    }
    return sum;
}

int ref_conv2d_backward_input(struct ag_backend *backend, const struct ag_conv2d *conv,
                              const float *grad_output, const float *weight, float *grad_input)
{
    int64_t image = conv->c_out * conv->h_out * conv->w_out;

    for (int64_t n = 0; n < conv->n; n++)
        for (int64_t c = 0; c < conv->c_in; c++)
            for (int64_t y = 0; y < conv->h_in; y++)
                for (int64_t x = 0; x < conv->w_in; x++)
                    *grad_input++ =
                        (float)input_sum(conv, grad_output + n * image, weight, c, y, x);
    return AG_OK;
}

/* Over the outputs that weight (o, c, kh, kw) was used for. */
static double weight_sum(const struct ag_conv2d *conv, const float *input, const float *grad_output,
                         int64_t o, int64_t c, int64_t kh, int64_t kw)
{
    double sum = 0;

    for (int64_t n = 0; n < conv->n; n++) {
        const float *plane = input + (n * conv->c_in + c) * conv->h_in * conv->w_in;
        const float *grad = grad_output + (n * conv->c_out + o) * conv->h_out * conv->w_out;

        for (int64_t h = 0; h < conv->h_out; h++) {
            for (int64_t w = 0; w < conv->w_out; w++) {
                int64_t y = h * conv->stride_h - conv->pad_h + kh;
                int64_t x = w * conv->stride_w - conv->pad_w + kw;

                if (y < 0 || y >= conv->h_in || x < 0 || x >= conv->w_in)
                    continue;
                sum += (double)plane[y * conv->w_in + x] * (double)grad[h * conv->w_out + w];
            }
        }
    }
    return sum;
}

int ref_conv2d_backward_weight(struct ag_backend *backend, const struct ag_conv2d *conv,
                               const float *input, const float *grad_output, float *grad_weight)
{
    for (int64_t o = 0; o < conv->c_out; o++)
        for (int64_t c = 0; c < conv->c_in; c++)
            for (int64_t kh = 0; kh < conv->kernel_h; kh++)
                for (int64_t kw = 0; kw < conv->kernel_w; kw++)
                    *grad_weight++ = (float)weight_sum(conv, input, grad_output, o, c, kh, kw);
    return AG_OK;
}

int ref_conv2d_backward_bias(struct ag_backend *backend, const struct ag_conv2d *conv,
                             const float *grad_output, float *grad_bias)
{
    int64_t plane = conv->h_out * conv->w_out;

    for (int64_t o = 0; o < conv->c_out; o++) {
        double sum = 0;

        for (int64_t n = 0; n < conv->n; n++)
            for (int64_t i = 0; i < plane; i++)
                sum += (double)grad_output[(n * conv->c_out + o) * plane + i];
        grad_bias[o] = (float)sum;
    }
    return AG_OK;
}
