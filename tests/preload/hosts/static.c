/* SPDX-License-Identifier: MIT */
/* Linked statically: nothing can be preloaded into it. */
#include <stdio.h>

int main(void)
{
    puts("static");
    return 7;
}
