/* SPDX-License-Identifier: MIT */
/*
 * A training loop, and mistakes people make in it. Sixteen streams of noisy images, one class each; a
 * frozen convolution makes features, a hidden state `h` adds them up over time, and what is trained tells
 * the class. Without an option the loop is in order: memory is the same after every step.
 *
 *     for step in range(200):
 *         x, target = batches[step % 16]
 *         with torch.no_grad():                        # --cache-features: without it, and kept
 *             features = backbone(x)
 *         h = 0.5 * h.detach() + hidden(features)      # --carry-state=attached: 0.5 * h
 *         loss = cross_entropy(output(h), target)
 *         optimizer.zero_grad()
 *         loss.backward()                              # --retain-graph: retain_graph=True
 *         optimizer.step()
 *         losses.append(loss.item())                   # --keep-loss=tensor: loss
 *         if step % 10 == 9:
 *             with torch.no_grad():                    # --validation=grad: without it
 *                 val_loss = val_loss + validate()
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/common.h"

enum { CLASSES = 10, CHANNELS = 3, SIDE = 16, FEATURES = 8 * 8 * 8, HIDDEN = 64, BATCHES = 16 };
enum { PIXELS = CHANNELS * SIDE * SIDE };
enum { PARAMETERS = 4 };

static struct {
    bool keep_loss_tensor, validation_with_grad, state_attached, retain_graph, cache_features, adam;
} train;

/* --- the data -------------------------------------------------------------------------------------- */

/* xorshift64; a number in [-1, 1) */
static float noise(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (float)((double)(*state >> 11) * 0x1p-52 - 1.0);
}

/* Image `i` of a batch belongs to stream i, whose class is i % 10: the class's picture, under noise. */
static ag_tensor *images(struct sample *sample, int64_t number)
{
    const int64_t batch = sample->options.batch;
    float *values = malloc((size_t)batch * PIXELS * sizeof(*values));
    ag_tensor *x;

    if (!values)
        return NULL;
    for (int64_t i = 0; i < batch; i++) {
        uint64_t picture = 1234567 + 7654321 * (uint64_t)(i % CLASSES);
        uint64_t own = 88172645463325252u + (uint64_t)(number * batch + i) * 2654435761u;

        for (int64_t k = 0; k < PIXELS; k++)
            values[i * PIXELS + k] = 0.3f * noise(&picture) + noise(&own);
    }
    x = ag_from_floats(sample->context, 4, (int64_t[]){batch, CHANNELS, SIDE, SIDE}, values);
    free(values);
    ag_set_role_input(x, "x");
    return x;
}

static ag_tensor *classes(struct sample *sample)
{
    const int64_t batch = sample->options.batch;
    int64_t *values = malloc((size_t)batch * sizeof(*values));
    ag_tensor *target;

    if (!values)
        return NULL;
    for (int64_t i = 0; i < batch; i++)
        values[i] = i % CLASSES;
    target = ag_from_ints(sample->context, 1, &batch, values);
    free(values);
    ag_set_role_input(target, "target");
    return target;
}

/* --- the network ----------------------------------------------------------------------------------- */

struct net {
    ag_tensor *conv_weight,
        *conv_bias;                 /* frozen by leaving them out of the optimizer, as people do */
    ag_tensor *trained[PARAMETERS]; /* hidden: weight, bias; output: weight, bias */
    ag_optimizer *optimizer;
};

static bool net_init(struct net *net, ag_context *context)
{
    const struct ag_sgd sgd = {.lr = 0.005f, .momentum = 0.9f, .weight_decay = 1e-4f};
    const struct ag_adam adam = {.lr = 2e-3f, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f};

    net->conv_weight =
        ag_parameter(context, "backbone", "weight", 4, (int64_t[]){8, CHANNELS, 3, 3}, 27);
    net->conv_bias = ag_parameter(context, "backbone", "bias", 1, (int64_t[]){8}, 27);
    net->trained[0] =
        ag_parameter(context, "hidden", "weight", 2, (int64_t[]){HIDDEN, FEATURES}, FEATURES);
    net->trained[1] = ag_parameter(context, "hidden", "bias", 1, (int64_t[]){HIDDEN}, FEATURES);
    net->trained[2] =
        ag_parameter(context, "output", "weight", 2, (int64_t[]){CLASSES, HIDDEN}, HIDDEN);
    net->trained[3] = ag_parameter(context, "output", "bias", 1, (int64_t[]){CLASSES}, HIDDEN);
    if (ag_error(context) != AG_OK)
        return false;
    net->optimizer = train.adam ? ag_adam_create(context, &adam, PARAMETERS, net->trained)
                                : ag_sgd_create(context, &sgd, PARAMETERS, net->trained);
    return net->optimizer;
}

static void net_finish(struct net *net)
{
    ag_optimizer_destroy(net->optimizer);
    for (int i = 0; i < PARAMETERS; i++)
        ag_release(net->trained[i]);
    ag_release(net->conv_bias);
    ag_release(net->conv_weight);
}

static ag_tensor *backbone(const struct sample *sample, const struct net *net, ag_tensor *x)
{
    ag_tensor *y = NULL;

    ag_module_begin(sample->context, "backbone");
    ag_assign(y, ag_conv2d(x, net->conv_weight, net->conv_bias, 1, 1));
    ag_assign(y, ag_relu_(y));
    ag_assign(y, ag_max_pool2d(y, 2, 2, 0));
    ag_assign(y, ag_flatten(y));
    ag_module_end(sample->context, "backbone");
    return y;
}

static ag_tensor *hidden(const struct sample *sample, const struct net *net, ag_tensor *features)
{
    ag_tensor *y;

    ag_module_begin(sample->context, "hidden");
    y = ag_linear(features, net->trained[0], net->trained[1]);
    ag_module_end(sample->context, "hidden");
    return y;
}

static ag_tensor *loss_of(const struct sample *sample, const struct net *net, ag_tensor *h,
                          ag_tensor *target)
{
    ag_tensor *y = NULL, *loss;

    ag_module_begin(sample->context, "output");
    ag_assign(y, ag_linear(h, net->trained[2], net->trained[3]));
    loss = ag_cross_entropy(y, target);
    ag_module_end(sample->context, "output");
    ag_release(y);
    return loss;
}

/* --- the loop -------------------------------------------------------------------------------------- */

struct loop {
    struct sample sample;
    struct net net;
    ag_tensor *target, *h, *features, *loss, *val_loss;
    ag_tensor *feature_cache[BATCHES];
    ag_tensor **losses; /* --keep-loss=tensor: of every step */
    double first_loss, sum_of_losses;
    int64_t validations;
};

/* The features of a batch. The backbone is frozen: nothing of it has to be recorded. */
static ag_tensor *make_features(struct loop *loop, ag_tensor *x, int64_t step)
{
    ag_context *context = loop->sample.context;
    ag_tensor **feature_cache = loop->feature_cache;
    ag_tensor *features = NULL;
    int64_t i = step % BATCHES;

    if (train.cache_features) { /* the mistake: each entry keeps the backbone's graph */
        if (!feature_cache[i])
            ag_assign(feature_cache[i], backbone(&loop->sample, &loop->net, x));
        return ag_detach(feature_cache[i]);
    }
    ag_no_grad_begin(context);
    ag_assign(features, backbone(&loop->sample, &loop->net, x));
    ag_no_grad_end(context);
    return features;
}

/* h = 0.5 * h + hidden(features) */
static ag_tensor *next_state(struct loop *loop, ag_tensor *h, ag_tensor *features)
{
    ag_tensor *old = NULL, *new = NULL;

    ag_assign(new, hidden(&loop->sample, &loop->net, features));
    if (h) {
        ag_assign(old, train.state_attached ? ag_retain(h) : ag_detach(h));
        ag_assign(old, ag_scale(old, 0.5f));
        ag_assign(new, ag_add(old, new));
        ag_release(old);
    }
    return new;
}

/* The loss of images that training does not see. */
static ag_tensor *validate(struct loop *loop)
{
    ag_tensor *x = NULL, *features = NULL, *h = NULL, *loss;

    ag_assign(x, images(&loop->sample, BATCHES));
    ag_assign(features, backbone(&loop->sample, &loop->net, x));
    ag_assign(h, next_state(loop, NULL, features));
    loss = loss_of(&loop->sample, &loop->net, h, loop->target);
    ag_release(h);
    ag_release(features);
    ag_release(x);
    return loss;
}

static void add_validation(struct loop *loop)
{
    ag_context *context = loop->sample.context;
    ag_tensor *val_loss = loop->val_loss, *loss = NULL;

    if (!train.validation_with_grad)
        ag_no_grad_begin(context);
    ag_assign(loss, validate(loop));
    ag_assign(val_loss, val_loss ? ag_add(val_loss, loss) : ag_retain(loss));
    if (!train.validation_with_grad)
        ag_no_grad_end(context);
    ag_release(loss);
    loop->val_loss = val_loss;
    loop->validations++;
}

static void train_step(struct loop *loop, int64_t step)
{
    const bool retain_graph = train.retain_graph || train.state_attached;
    ag_tensor *x = NULL, *h = loop->h, *features = loop->features, *loss = loop->loss;

    ag_assign(x, images(&loop->sample, step % BATCHES));
    ag_assign(features, make_features(loop, x, step));
    ag_assign(h, next_state(loop, h, features));
    ag_assign(loss, loss_of(&loop->sample, &loop->net, h, loop->target));
    ag_release(x);
    loop->h = h, loop->features = features, loop->loss = loss;

    ag_optimizer_zero_grad(loop->net.optimizer);
    ag_backward(loss, retain_graph);
    ag_optimizer_step(loop->net.optimizer);
    if (train.keep_loss_tensor) {
        ag_tensor **losses = loop->losses;
        ag_assign(losses[step],
                  ag_retain(loss)); /* the mistake: each loss keeps its graph's nodes */
    }
    loop->sum_of_losses += (double)ag_item(loss);
    if (step % 10 == 9)
        add_validation(loop);
}

static void report_step(struct loop *loop, int64_t step)
{
    const ag_context *context = loop->sample.context;
    double loss = (double)ag_item(loop->loss);

    if (step == 0)
        loop->first_loss = loss;
    if (step != 0 && (step + 1) % 50 != 0 && step + 1 != loop->sample.options.iterations)
        return;
    printf("step %" PRId64 ": loss %.4f, ", step + 1, loss);
    sample_print_commas(ag_live_bytes(context));
    printf(" bytes, ");
    sample_print_commas(ag_live_nodes(context));
    printf(" nodes\n");
    fflush(stdout);
}

static void run(struct loop *loop)
{
    struct sample *sample = &loop->sample;
    const int64_t steps = sample->options.iterations;

    for (int64_t step = 0; step < steps; step++) {
        sample_step_begin(sample);
        train_step(loop, step);
        if (!sample_step_end(sample))
            return;
        report_step(loop, step);
    }
    if (!strcmp(sample->options.ag.compute ? sample->options.ag.compute : "real", "skip"))
        return;
    printf("loss %.4f -> %.4f, mean %.4f", loop->first_loss, (double)ag_item(loop->loss),
           loop->sum_of_losses / (double)steps);
    if (loop->validations > 0)
        printf(", validation %.4f", (double)ag_item(loop->val_loss) / (double)loop->validations);
    printf("\n");
}

/* Before the program ends it gives back all it holds; a report's moment `end` is before this. */
static void finish(struct loop *loop)
{
    for (int64_t i = 0; loop->losses && i < loop->sample.options.iterations; i++)
        ag_release(loop->losses[i]);
    free(loop->losses);
    for (int i = 0; i < BATCHES; i++)
        ag_release(loop->feature_cache[i]);
    ag_release(loop->val_loss);
    ag_release(loop->loss);
    ag_release(loop->features);
    ag_release(loop->h);
    ag_release(loop->target);
    net_finish(&loop->net);
}

/* --- options --------------------------------------------------------------------------------------- */

static bool parse_choice(const char *text, const char *no, const char *yes, bool *ret_yes)
{
    *ret_yes = !strcmp(text, yes);
    return *ret_yes || !strcmp(text, no);
}

static bool parse_keep_loss(const char *text, struct sample_options *options)
{
    return parse_choice(text, "number", "tensor", &train.keep_loss_tensor);
}

static bool parse_validation(const char *text, struct sample_options *options)
{
    return parse_choice(text, "no_grad", "grad", &train.validation_with_grad);
}

static bool parse_carry_state(const char *text, struct sample_options *options)
{
    return parse_choice(text, "detached", "attached", &train.state_attached);
}

static bool parse_optimizer(const char *text, struct sample_options *options)
{
    return parse_choice(text, "sgd", "adam", &train.adam);
}

static bool parse_retain_graph(const char *text, struct sample_options *options)
{
    return train.retain_graph = true;
}

static bool parse_cache_features(const char *text, struct sample_options *options)
{
    return train.cache_features = true;
}

static const struct sample_option own_options[] = {
    {"--keep-loss", "number|tensor", "number, tensor",
     "tensor: keep each step's loss with its graph", parse_keep_loss},
    {"--validation", "no_grad|grad", "no_grad, grad", "grad: record graphs while validating",
     parse_validation},
    {"--carry-state", "detached|attached", "detached, attached",
     "attached: the state keeps all steps' graphs", parse_carry_state},
    {"--retain-graph", NULL, NULL, "backward releases nothing", parse_retain_graph},
    {"--cache-features", NULL, NULL, "keep features with the graph that made them",
     parse_cache_features},
    {"--optimizer", "sgd|adam", "sgd, adam", "with momentum and weight decay, or Adam",
     parse_optimizer},
    {.name = NULL},
};

int main(int argc, char **argv)
{
    struct loop loop = {
        .sample = {.quiet = true, .options = {.batch = 32, .iterations = 200, .own = own_options}}};
    struct sample *sample = &loop.sample;

    sample_parse(argc, argv, "Train a small network, with or without a mistake in the loop.",
                 &sample->options);
    loop.losses = calloc((size_t)sample->options.iterations, sizeof(*loop.losses));
    if (sample_open(sample) && net_init(&loop.net, sample->context)) {
        loop.target = classes(sample);
        run(&loop);
    }
    if (sample->context)
        finish(&loop);
    return sample_finish(sample);
}
