/* SPDX-License-Identifier: BSD-3-Clause */
/* The hints that ROMIO's, ompio's and MPI's documentation name, with values that are meant, and with some that are not. */
#include <stdio.h>
#include <string.h>

#include "case.h"

struct hint {
  const char *key, *value;
};

static const struct hint reserved[] = {
    {"access_style", "write_once,sequential"}, {"access_style", "random"}, {"collective_buffering", "true"},
    {"collective_buffering", "false"}, {"cb_block_size", "65536"}, {"cb_buffer_size", "131072"}, {"cb_nodes", "1"},
    {"cb_nodes", "2"}, {"cb_nodes", "100000"}, {"chunked", "100,100"}, {"chunked_item", "8"}, {"chunked_size", "10,10"},
    {"filename", "another"}, {"file_perm", "0640"}, {"io_node_list", "node1,node2"}, {"nb_proc", "4"},
    {"num_io_nodes", "2"}, {"striping_factor", "4"}, {"striping_unit", "65536"}, {"mpiio_concurrency", "true"},
    {"mpiio_coll_contiguous", "true"}};

static const struct hint of_romio[] = {
    {"cb_config_list", "*:1"}, {"cb_config_list", "*:*"}, {"cb_config_list", "*:2"}, {"romio_cb_read", "enable"},
    {"romio_cb_read", "disable"}, {"romio_cb_read", "automatic"}, {"romio_cb_write", "enable"}, {"romio_cb_write", "disable"},
    {"romio_cb_write", "automatic"}, {"romio_ds_read", "enable"}, {"romio_ds_read", "disable"}, {"romio_ds_write", "enable"},
    {"romio_ds_write", "disable"}, {"romio_ds_write", "automatic"}, {"romio_no_indep_rw", "true"},
    {"romio_no_indep_rw", "false"}, {"romio_cb_fr_types", "aar"}, {"romio_cb_fr_alignment", "4096"},
    {"romio_cb_ds_threshold", "0"}, {"romio_cb_alltoall", "enable"}, {"romio_min_fdomain_size", "65536"},
    {"ind_rd_buffer_size", "65536"}, {"ind_wr_buffer_size", "65536"}, {"romio_lustre_co_ratio", "2"},
    {"romio_lustre_coll_threshold", "0"}, {"romio_lustre_ds_in_coll", "enable"}, {"romio_lustre_start_iodevice", "0"},
    {"direct_read", "false"}, {"direct_write", "false"}, {"start_iodevice", "0"}, {"striping_factor", "-1"},
    {"romio_filesystem_type", "UFS:"}, {"romio_aggregator_list", "0"}, {"romio_synchronized_flush", "disable"},
    {"romio_visibility_immediate", "true"}};

static const struct hint of_ompio[] = {
    {"num_aggregators", "2"}, {"ompio_grouping_option", "1"}, {"aggregators_cutoff_threshold", "1"}, {"num_io_procs", "2"},
    {"coll_read_alg", "individual"}, {"fcoll", "individual"}, {"max_aggregators_ratio", "8"}, {"cycle_buffer_size", "65536"},
    {"bytes_per_agg", "65536"}, {"sharedfp_lockedfile_priority", "0"}, {"locked_file", "true"}};

/* Not those with which ROMIO or ompio crash: an empty one, no and negative sizes, ompio with no and negative cb_nodes. */
static const struct hint wrong[] = {
    {"cb_nodes", "abc"}, {"romio_cb_write", "perhaps"}, {"romio_no_indep_rw", "perhaps"}, {"ind_wr_buffer_size", "abc"},
    {"ind_rd_buffer_size", "0"}, {"striping_unit", "abc"}, {"file_perm", "none"}, {"romio_cb_fr_types", "none"},
    {"num_aggregators", "none"}};

/* Opens with one hint, writes by all with a view and alone, reads, and shows what the file has. */
static void with_hint(MPI_Info info, const char* label) {
  enum { blocks = 4, bytes = 16 };
  char mine[blocks * bytes], found[blocks * bytes];
  memset(mine, 'a' + rank, sizeof mine);
  memset(found, 0, sizeof found);
  MPI_File file;
  const int code = MPI_File_open(MPI_COMM_WORLD, path("data"), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  say("%s: open %d", label, class);
  if (code != MPI_SUCCESS) return;
  MPI_Datatype view;
  MPI_Type_vector(blocks, bytes, ranks * bytes, MPI_BYTE, &view);
  MPI_Type_commit(&view);
  CALL(MPI_File_set_view(file, rank * bytes, MPI_BYTE, view, "native", info));
  CALL(MPI_File_write_all(file, mine, sizeof mine, MPI_BYTE, MPI_STATUS_IGNORE));
  CALL(MPI_File_read_at_all(file, 0, found, sizeof found, MPI_BYTE, MPI_STATUS_IGNORE));
  say_bytes("read", found, sizeof found);
  MPI_Info shown;
  CALL(MPI_File_get_info(file, &shown));
  for (const char** key = (const char*[]){"cb_config_list", "romio_cb_write", "cb_buffer_size", NULL}; *key != NULL; ++key) {
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int is_there = 0;
    MPI_Info_get(shown, *key, MPI_MAX_INFO_VAL, value, &is_there);
    if (is_there) say("%s: %s", *key, value);
  }
  MPI_Info_free(&shown);
  MPI_Type_free(&view);
  CALL(MPI_File_close(&file));
}

static void with_each(const struct hint* hints, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    MPI_Info info;
    char label[128];
    MPI_Info_create(&info);
    if (MPI_Info_set(info, hints[i].key, hints[i].value) != MPI_SUCCESS) say("not even an info");
    snprintf(label, sizeof label, "%s=%s", hints[i].key, hints[i].value);
    with_hint(info, label);
    MPI_Info_free(&info);
  }
}

#define EACH(hints) with_each(hints, sizeof hints / sizeof hints[0])

CASE(hints_reserved, "hints that MPI reserves the names of") { EACH(reserved); }
CASE(hints_of_romio, "hints of ROMIO") { EACH(of_romio); }
CASE(hints_of_ompio, "hints of ompio") { EACH(of_ompio); }
CASE(hints_with_wrong_values, "values that cannot be") { EACH(wrong); }

CASE(hints_that_name_this_host, "cb_config_list names the host of the aggregators") {
  char list[MPI_MAX_PROCESSOR_NAME + 8];
  int length = 0;
  MPI_Info info;
  MPI_Get_processor_name(list, &length);
  strcpy(list + length, ":1");
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_config_list", list);
  with_hint(info, "this host");
  MPI_Info_free(&info);
}
