/* SPDX-License-Identifier: MIT */
/* The dominator tree against its definition: x dominates y when y cannot be reached without x. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "viewer/dominator.h"
#include "viewer/memory.h"

#define VERTICES_MAX 40
#define EDGES_MAX 160

struct graph {
    uint32_t vertices, edges;
    uint32_t from[EDGES_MAX], to[EDGES_MAX];
};

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % limit;
}

/* Bit v of the result: v is reachable from 0 without going through `removed`. */
static uint64_t reachable_without(const struct graph *graph, uint32_t removed)
{
    uint64_t seen = removed == 0 ? 0 : 1, before;
    do {
        before = seen;
        for (uint32_t i = 0; i < graph->edges; i++)
            if (seen >> graph->from[i] & 1 && graph->to[i] != removed)
                seen |= UINT64_C(1) << graph->to[i];
    } while (seen != before);
    return seen;
}

static void build(const struct graph *graph, struct gv_dominators *ret_tree)
{
    struct gv_digraph successors, predecessors;
    assert_int_equal(
        gv_digraph_build(graph->vertices, graph->edges, graph->from, graph->to, &successors), 0);
    assert_int_equal(
        gv_digraph_build(graph->vertices, graph->edges, graph->to, graph->from, &predecessors), 0);
    assert_int_equal(gv_dominators_build(&successors, &predecessors, 0, ret_tree), 0);
    assert_null(successors.first); /* consumed */
    gv_digraph_free(&predecessors);
}

/* x is on the chain of immediate dominators of y */
static int is_above(const struct gv_dominators *tree, uint32_t x, uint32_t y)
{
    while (y != x && y != 0)
        y = tree->idom[y];
    return y == x;
}

static void check_against_definition(const struct graph *graph)
{
    struct gv_dominators tree;
    build(graph, &tree);
    uint64_t reachable = reachable_without(graph, GV_NONE);
    assert_int_equal(tree.reached, __builtin_popcountll(reachable));
    for (uint32_t y = 0; y < graph->vertices; y++)
        if (!(reachable >> y & 1))
            assert_int_equal(tree.idom[y], GV_NONE);
    for (uint32_t x = 0; x < graph->vertices; x++) {
        uint64_t left = reachable_without(graph, x);
        for (uint32_t y = 0; y < graph->vertices; y++)
            if (reachable >> x & 1 && reachable >> y & 1)
                assert_int_equal(is_above(&tree, x, y), !(left >> y & 1));
    }
    gv_dominators_free(&tree);
}

static void random_graphs(void **state)
{
    uint64_t seed = 20240601;
    int deep = 0;
    for (int round = 0; round < 3000; round++) {
        struct graph graph = {.vertices = 1 + random_below(&seed, VERTICES_MAX)};
        graph.edges = random_below(&seed, EDGES_MAX / (1 + random_below(&seed, 4)));
        for (uint32_t i = 0; i < graph.edges; i++) {
            graph.from[i] = random_below(&seed, graph.vertices);
            graph.to[i] = random_below(&seed, graph.vertices);
            /* half of the graphs mostly go forward: long chains; the others are full of cycles */
            if (round % 2 && graph.from[i] > graph.to[i] && random_below(&seed, 4)) {
                uint32_t swap = graph.from[i];
                graph.from[i] = graph.to[i];
                graph.to[i] = swap;
            }
        }
        check_against_definition(&graph);
        deep += reachable_without(&graph, GV_NONE) > 0xff;
    }
    assert_true(deep > 1000); /* the sample is not made of trivial graphs */
}

static void known_example(void **state)
{
    /* the graph of Lengauer and Tarjan's paper: R=0 A B C D E F G H I J K L = 1..12 */
    struct graph graph = {
        .vertices = 13,
        .edges = 21,
        .from = {0, 0, 0, 1, 2, 2, 2, 3, 3, 4, 5, 6, 7, 7, 8, 8, 9, 10, 11, 11, 12},
        .to = {1, 2, 3, 4, 1, 4, 5, 6, 7, 12, 8, 9, 9, 10, 5, 11, 11, 9, 0, 9, 8}};
    static const uint32_t idom[] = {0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 7, 0, 4};
    struct gv_dominators tree;
    build(&graph, &tree);
    for (uint32_t v = 0; v < graph.vertices; v++)
        assert_int_equal(tree.idom[v], idom[v]);
    gv_dominators_free(&tree);
}

#define LONG_CHAIN 2000000u

/* A chain with a way round every second vertex: recursion would overflow the stack, and walking up
 * the tree for each vertex would take hours. */
static void long_chain(void **state)
{
    uint32_t edges = 0, *from = malloc(2 * LONG_CHAIN * sizeof(*from)),
             *to = malloc(2 * LONG_CHAIN * sizeof(*to));
    assert_non_null(from);
    assert_non_null(to);
    for (uint32_t v = 0; v + 1 < LONG_CHAIN; v++) {
        from[edges] = v;
        to[edges++] = v + 1;
        if (v % 2 == 0 && v + 2 < LONG_CHAIN) {
            from[edges] = v;
            to[edges++] = v + 2;
        }
    }
    struct gv_digraph successors, predecessors;
    struct gv_dominators tree;
    assert_int_equal(gv_digraph_build(LONG_CHAIN, edges, from, to, &successors), 0);
    assert_int_equal(gv_digraph_build(LONG_CHAIN, edges, to, from, &predecessors), 0);
    assert_int_equal(gv_dominators_build(&successors, &predecessors, 0, &tree), 0);
    for (uint32_t v = 1; v < LONG_CHAIN; v++)
        assert_int_equal(tree.idom[v], v % 2 ? v - 1 : v - 2);
    gv_dominators_free(&tree);
    gv_digraph_free(&predecessors);
    free(from);
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(known_example),
        cmocka_unit_test(long_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
