/* SPDX-License-Identifier: MIT */
#include "viewer/export_gzip.h"

#include <errno.h>
#include <stdbool.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* the largest window; 16 asks for a gzip header */
#define INPUT_MAX (1u << 30)  /* zlib counts in unsigned int */

int gv_gzip_put(FILE *out, const void *data, size_t bytes)
{
    unsigned char buffer[16384];
    z_stream stream = {.next_in = (unsigned char *)data};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    bool done = false;
    while (!done) {
        if (stream.avail_in == 0) {
            stream.avail_in = bytes < INPUT_MAX ? (unsigned)bytes : INPUT_MAX;
            bytes -= stream.avail_in;
        }
        stream.next_out = buffer;
        stream.avail_out = sizeof(buffer);
        done = deflate(&stream, bytes == 0 ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
        fwrite(buffer, 1, sizeof(buffer) - stream.avail_out, out);
    }
    deflateEnd(&stream);
    return 0;
}
