/* SPDX-License-Identifier: MIT */
/* What the samples share: options, the line they print, and how they end. */
#ifndef SAMPLES_COMMON_H
#define SAMPLES_COMMON_H

#include "ag/ag.h"

/* Exit statuses. */
enum sample_exit {
    SAMPLE_OK = 0,
    SAMPLE_FAILED = 1,       /* no such device, a file that cannot be read, ... */
    SAMPLE_USAGE = 2,        /* an option is wrong */
    SAMPLE_OUT_OF_MEMORY = 3 /* the device refused, everything was freed */
};

struct sample_options;

/* One command line option, as the help names it and with its check. */
struct sample_option {
    const char *name;     /* "--batch"; NULL ends a table */
    const char *argument; /* as the help names it; NULL: takes none */
    const char *allowed;  /* completes "allowed: ..." */
    const char *help;
    bool (*parse)(const char *text,
                  struct sample_options *options); /* text: NULL where none is taken */
};

struct sample_options {
    const char *program; /* "sample_detach" */
    int64_t batch;
    int64_t iterations;
    bool detach;
    struct ag_options ag;
    const struct sample_option
        *own; /* what this sample takes beside the common ones; NULL: the options
                                        of the samples that run AlexNet */
    const char *load_weights, *save_weights; /* NULL: not wanted */
};

struct sample {
    struct sample_options options;
    ag_context *context;
    ag_alexnet *net;
    int64_t iteration; /* the one now running, from 1; 0: none yet */
    bool quiet;        /* the sample prints lines of its own */
};

/*
 * Fill the options of a sample: `defaults` overridden by the command line. Prints one line to stderr
 * and exits 2 when the command line is wrong; prints the help and exits 0 on --help. `purpose` is the
 * first line of the help.
 */
void sample_parse(int argc, char **argv, const char *purpose, struct sample_options *options);

/* Open the device and print its line. False when that failed: go straight to sample_finish. */
bool sample_open(struct sample *sample);
/* The same, then make AlexNet, and load and save weights as asked. */
bool sample_start(struct sample *sample);

/* One step of the program's loop begins, and ends: prints "iteration 2: 0.81 GB (865,062,048 bytes)",
 * without the number when only one iteration was asked for, and nothing if `quiet`. False when
 * something failed since; the step then stays open. */
void sample_step_begin(struct sample *sample);
bool sample_step_end(struct sample *sample);

/* 1234567 as "1,234,567", without a line's end. */
void sample_print_commas(size_t value);

/* A batch of random images. */
ag_tensor *sample_batch(struct sample *sample);

/* Free everything, say what failed if something did, and return the program's exit status. */
int sample_finish(struct sample *sample);

#endif
