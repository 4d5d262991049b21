/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/store/store_fixture.h"

#define NODE_A UINT64_C(0xa000)
#define NODE_B UINT64_C(0xb000)
#define HANDLE UINT64_C(0xc000)

static uint64_t add_edge(struct log_builder *log, uint64_t node, uint64_t input)
{
    return log_builder_add(
        log, (struct gp_record){.type = GP_EV_EDGE, .key = node, .a = input, .detail = 1});
}

static uint64_t add_release(struct log_builder *log, uint64_t node, uint32_t slot_id)
{
    return log_builder_add(
        log, (struct gp_record){.type = GP_EV_RELEASE, .key = node, .name_id = slot_id});
}

static void test_nodes_edges_and_slots(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    uint32_t relu = log_builder_string(log, "ReluBackward0");
    uint32_t result = log_builder_string(log, "result"), other = log_builder_string(log, "other");
    log_builder_alloc(log, 0x1000, 64);
    uint64_t created = log_builder_node(log, NODE_A, relu);
    log_builder_node(log, NODE_B, relu);
    add_edge(log, NODE_B, NODE_A);
    uint64_t saved = log_builder_save(log, NODE_B, result, 0x1010, NODE_A);
    log_builder_save(log, NODE_B, other, 0, 0);
    uint64_t released = add_release(log, NODE_B, result);
    uint64_t backward = log_builder_key(log, GP_EV_NODE_BACKWARD, NODE_B);
    uint64_t gone = log_builder_key(log, GP_EV_NODE_DESTROY, NODE_B);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT op_id FROM node WHERE id = 1", relu);
    assert_query(db, "SELECT create_seq FROM node WHERE id = 1", created);
    assert_query(db, "SELECT key FROM node WHERE id = 1", NODE_A);
    assert_query(db, "SELECT destroy_seq FROM node WHERE id = 1", -1);
    assert_query(db, "SELECT key FROM node WHERE id = 2", -1);
    assert_query(db, "SELECT backward_seq FROM node WHERE id = 2", backward);
    assert_query(db, "SELECT destroy_seq FROM node WHERE id = 2", gone);
    assert_query(
        db, "SELECT count(*) FROM edge WHERE node_id = 2 AND slot = 1 AND input_node_id = 1", 1);
    assert_query(db, "SELECT allocation_id FROM saved WHERE id = 1", 1);
    assert_query(db, "SELECT source_node_id FROM saved WHERE id = 1", 1);
    assert_query(db, "SELECT save_seq FROM saved WHERE id = 1", saved);
    assert_query(db, "SELECT release_seq FROM saved WHERE id = 1", released);
    assert_query(db, "SELECT allocation_id FROM saved WHERE id = 2", -1);
    assert_query(db, "SELECT release_seq FROM saved WHERE id = 2", gone); /* by the node's death */
    assert_query(db, "SELECT size_bytes FROM saves WHERE op = 'ReluBackward0' AND slot = 'result'",
                 64);
    assert_query(db, "SELECT count(*) FROM counter", 0);
    gp_db_close(db);
}

static void test_a_full_slot_is_emptied(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    log_builder_alloc(log, 0x1000, 64);
    log_builder_alloc(log, 0x2000, 64);
    log_builder_node(log, NODE_A, 1);
    log_builder_save(log, NODE_A, 2, 0x1000, 0);
    uint64_t again = log_builder_save(log, NODE_A, 2, 0x2000, 0);
    uint64_t released = add_release(log, NODE_A, 2);
    add_release(log, NODE_A, 2);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT release_seq FROM saved WHERE id = 1", again);
    assert_query(db, "SELECT release_seq FROM saved WHERE id = 2", released);
    assert_query(db, "SELECT value FROM counter WHERE name = 'missed_releases'", 1);
    assert_query(db, "SELECT value FROM counter WHERE name = 'unknown_slots'", 1);
    gp_db_close(db);
}

static void test_unknown_and_reused_keys_are_counted(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    log_builder_node(log, NODE_A, 1);
    log_builder_save(log, NODE_A, 3, 0x999, 0); /* a storage that is in no allocation */
    uint64_t again = log_builder_node(log, NODE_A, 2);
    add_edge(log, NODE_A, NODE_B);
    log_builder_key(log, GP_EV_NODE_DESTROY, NODE_B);
    log_builder_save(log, NODE_B, 3, 0, 0);
    log_builder_handle(log, HANDLE, 0, 0, NODE_B);
    uint64_t handle_again = log_builder_handle(log, HANDLE, 0, 0, 0);
    log_builder_key(log, GP_EV_HANDLE_DESTROY, HANDLE);
    log_builder_key(log, GP_EV_HANDLE_DESTROY, HANDLE);
    log_builder_node(log, 0, 1);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT destroy_seq FROM node WHERE id = 1", again);
    assert_query(db, "SELECT allocation_id FROM saved WHERE id = 1", -1);
    assert_query(db, "SELECT release_seq FROM saved WHERE id = 1", again);
    assert_query(db, "SELECT op_id FROM node WHERE destroy_seq IS NULL", 2);
    assert_query(db, "SELECT destroy_seq FROM handle WHERE id = 1", handle_again);
    assert_query(db, "SELECT count(*) FROM edge", 0);
    assert_query(db, "SELECT count(*) FROM saved", 1);
    assert_query(db, "SELECT value FROM counter WHERE name = 'unknown_addresses'", 1);
    assert_query(db, "SELECT value FROM counter WHERE name = 'missed_node_ends'", 1);
    assert_query(db, "SELECT value FROM counter WHERE name = 'unknown_nodes'", 4);
    assert_query(db, "SELECT value FROM counter WHERE name = 'missed_handle_ends'", 1);
    assert_query(db, "SELECT value FROM counter WHERE name = 'unknown_handles'", 1);
    assert_query(db, "SELECT value FROM counter WHERE name = 'malformed_events'", 1);
    gp_db_close(db);
}

/* A new name or node ends the row and begins the next one. */
static void test_handle_versions(void **state)
{
    struct store_fixture *fixture = *state;
    struct log_builder *log = &fixture->log;
    uint32_t name = log_builder_string(log, "y_sum");
    log_builder_alloc(log, 0x1000, 64);
    log_builder_node(log, NODE_A, 1);
    uint64_t created = log_builder_handle(log, HANDLE, 0, 0x1000, 0);
    struct gp_record naming = {
        .type = GP_EV_HANDLE_NAME, .key = HANDLE, .name_id = name, .stack_id = 9};
    uint64_t named = log_builder_add(log, naming);
    log_builder_add(log, naming); /* nothing new: no row */
    struct gp_record attach = {.type = GP_EV_HANDLE_NODE, .key = HANDLE, .b = NODE_A};
    uint64_t attached = log_builder_add(log, attach);
    uint64_t gone = log_builder_key(log, GP_EV_HANDLE_DESTROY, HANDLE);
    store_ingest_all(fixture);
    struct gp_db *db = store_open_plain(fixture->db_path);
    assert_query(db, "SELECT count(*) FROM handle WHERE object_id = 1 AND allocation_id = 1", 3);
    assert_query(db, "SELECT count(*) FROM handle", 3);
    assert_query(db, "SELECT create_seq FROM handle WHERE id = 1", created);
    assert_query(db, "SELECT destroy_seq FROM handle WHERE id = 1", named);
    assert_query(db, "SELECT name_id FROM handle WHERE id = 1", -1);
    assert_query(db, "SELECT create_seq FROM handle WHERE id = 2", named);
    assert_query(db, "SELECT name_id FROM handle WHERE id = 2", name);
    assert_query(db, "SELECT stack_id FROM handle WHERE id = 2", 9);
    assert_query(db, "SELECT node_id FROM handle WHERE id = 2", -1);
    assert_query(db, "SELECT destroy_seq FROM handle WHERE id = 2", attached);
    assert_query(db, "SELECT node_id FROM handle WHERE id = 3", 1);
    assert_query(db, "SELECT name_id FROM handle WHERE id = 3", name);
    assert_query(db, "SELECT destroy_seq FROM handle WHERE id = 3", gone);
    assert_query(db, "SELECT count(*) FROM handles WHERE name = 'y_sum' AND size_bytes = 64", 2);
    gp_db_close(db);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_nodes_edges_and_slots),
        TEST(test_a_full_slot_is_emptied),
        TEST(test_unknown_and_reused_keys_are_counted),
        TEST(test_handle_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
