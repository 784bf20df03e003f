// SPDX-License-Identifier: BSD-3-Clause
// What can be asked of an open file.
#include "case.h"

#include <string.h>

CASE(queries_view, "get_view: displacement, kinds of types, data representation") {
  MPI_File file = open_new("data");
  MPI_Datatype type, etype, filetype;
  MPI_Offset displacement = -1;
  char representation[MPI_MAX_DATAREP_STRING] = "";
  MPI_Type_vector(3, 2, 8, MPI_FLOAT, &type);
  type = commit(type);
  for (int turn = 0; turn < 2; ++turn) {
    int counts[4], bytes;
    MPI_Aint lower, extent;
    CALL(MPI_File_get_view(file, &displacement, &etype, &filetype, representation));
    say("displacement %lld, \"%s\", etype is MPI_BYTE: %d, MPI_FLOAT: %d", (long long)displacement, representation,
        etype == MPI_BYTE, etype == MPI_FLOAT);
    MPI_Type_get_envelope(filetype, &counts[0], &counts[1], &counts[2], &counts[3]);
    MPI_Type_size(filetype, &bytes);
    MPI_Type_get_extent(filetype, &lower, &extent);
    say("filetype: a vector: %d, %d bytes in %ld", counts[3] == MPI_COMBINER_VECTOR, bytes, (long)extent);
    if (counts[3] != MPI_COMBINER_NAMED) MPI_Type_free(&filetype);
    CALL(MPI_File_set_view(file, 12 + 4 * rank, MPI_FLOAT, type, "native", MPI_INFO_NULL));
  }
  close_file(&file);
  MPI_Type_free(&type);
}

CASE(queries_view_of_the_next_file, "a file does not begin with the view of the one before") {
  for (int turn = 0; turn < 3; ++turn) {
    MPI_File file = open_prefilled(turn ? "later" : "first");
    MPI_Datatype type, etype, filetype;
    MPI_Offset displacement = -1, offset = -1;
    char representation[MPI_MAX_DATAREP_STRING] = "", bytes[40];
    MPI_Type_vector(5, 1, 4, MPI_INT, &type);
    type = commit(type);
    CALL(MPI_File_get_byte_offset(file, 3, &offset));
    CALL(MPI_File_set_view(file, 8, MPI_INT, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
    if (turn > 0) {
      CALL(MPI_File_get_view(file, &displacement, &etype, &filetype, representation));
      say("after byte %lld, \"%s\" at %lld", (long long)offset, representation, (long long)displacement);
      MPI_Type_free(&filetype);
    }
    CALL(MPI_File_get_byte_offset(file, 3, &offset));
    fill(bytes, sizeof bytes, turn);
    CALL(MPI_File_write_at_all(file, 5 * rank, bytes, 5, MPI_INT, MPI_STATUS_IGNORE));
    const int is_refused = MPI_File_set_view(file, 4, MPI_INT, MPI_CHAR, "native", MPI_INFO_NULL) != MPI_SUCCESS;
    say("byte %lld, a filetype that has no whole etypes is refused: %d", (long long)offset, is_refused);
    close_file(&file);
  }
}

static void say_amode(int amode) {
  MPI_File file = open_file(MPI_COMM_WORLD, "data", amode);
  int found = -1;
  CALL(MPI_File_get_amode(file, &found));
  say("asked %d, got %d", amode, found);
  close_file(&file);
}

CASE(queries_amode, "get_amode") {
  say_amode(MPI_MODE_CREATE | MPI_MODE_RDWR);
  say_amode(MPI_MODE_WRONLY | MPI_MODE_UNIQUE_OPEN);
  say_amode(MPI_MODE_RDONLY);
  say_amode(MPI_MODE_RDWR | MPI_MODE_APPEND);
}

CASE(queries_group, "get_group") {
  MPI_Comm comm;
  MPI_Group group, of_comm;
  int size, result;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
  MPI_File file = open_file(comm, rank % 2 ? "odd" : "even", MPI_MODE_CREATE | MPI_MODE_RDWR);
  CALL(MPI_File_get_group(file, &group));
  MPI_Comm_group(comm, &of_comm);
  MPI_Group_size(group, &size);
  MPI_Group_compare(group, of_comm, &result);
  say("%d ranks, identical: %d", size, result == MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&of_comm);
  close_file(&file);
  MPI_Comm_free(&comm);
}

CASE(queries_info, "hints that are not known do no harm, and set_info takes some more") {
  MPI_Info info, found;
  MPI_File file;
  char value[100];
  int there;
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_such_hint", "of any file system");
  MPI_Info_set(info, "cb_buffer_size", "1048576");
  CALL(MPI_File_open(MPI_COMM_WORLD, path("data"), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
  CALL(MPI_File_get_info(file, &found));
  MPI_Info_get(found, "cb_buffer_size", 99, value, &there);
  say("cb_buffer_size: %s", there ? value : "-");
  MPI_Info_free(&found);
  MPI_Info_set(info, "cb_buffer_size", "2097152");
  CALL(MPI_File_set_info(file, info));
  CALL(MPI_File_get_info(file, &found));
  MPI_Info_get(found, "cb_buffer_size", 99, value, &there);
  say("cb_buffer_size: %s", there ? value : "-");
  MPI_Info_free(&found);
  MPI_Info_free(&info);
  int number = rank;
  CALL(MPI_File_write_at_all(file, 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&file);
}

CASE(queries_type_extent, "get_type_extent in the native representation") {
  MPI_File file = open_new("data");
  MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE, MPI_DATATYPE_NULL};
  MPI_Aint extent = -1;
  MPI_Type_vector(3, 1, 5, MPI_INT, &types[2]);
  for (int i = 0; i < 3; ++i) {
    CALL(MPI_File_get_type_extent(file, types[i], &extent));
    say("extent %ld", (long)extent);
#if MPI_VERSION >= 4
    MPI_Count large = -1;
    CALL(MPI_File_get_type_extent_c(file, types[i], &large));
    if (large != extent) say("as a large count %lld", (long long)large);
#endif
  }
  MPI_Type_free(&types[2]);
  close_file(&file);
}

CASE(queries_atomicity, "get_atomicity, before and after set_atomicity") {
  MPI_File file = open_new("data");
  int flag = -1;
  CALL(MPI_File_get_atomicity(file, &flag));
  say("at first: %d", flag);
  CALL(MPI_File_set_atomicity(file, 1));
  CALL(MPI_File_get_atomicity(file, &flag));
  say("set: %d", flag != 0);
  CALL(MPI_File_get_amode(file, &flag));
  say("mode: %d", flag);
  CALL(MPI_File_set_atomicity(file, 0));
  CALL(MPI_File_get_atomicity(file, &flag));
  say("unset: %d", flag);
  close_file(&file);
}

CASE(queries_size, "get_size sees what was written, by this rank at once and by others after a sync") {
  MPI_File file = open_new("data");
  MPI_Offset size = -1;
  char bytes[100];
  fill(bytes, sizeof bytes, 0);
  CALL(MPI_File_get_size(file, &size));
  say("new: %lld", (long long)size);
  barrier();
  if (rank == 0) {
    CALL(MPI_File_write_at(file, 1000, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE));
    CALL(MPI_File_get_size(file, &size));
    say("one wrote: %lld", (long long)size);
  }
  sync_all(file);
  CALL(MPI_File_get_size(file, &size));
  say("synchronized: %lld", (long long)size);
  barrier();
  CALL(MPI_File_write_at_all(file, 5000 + 100 * rank, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  sync_all(file);
  CALL(MPI_File_get_size(file, &size));
  say("all wrote: %lld", (long long)size);
  close_file(&file);
}

CASE(queries_handles, "a handle goes to Fortran's and back") {
  MPI_File file = open_new("data");
  int number = rank;
  const MPI_Fint handle = MPI_File_c2f(file);
  MPI_File again = MPI_File_f2c(handle);
  say("the same: %d", again == file);
  CALL(MPI_File_write_at_all(again, 4 * rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  close_file(&again);
  say("null is null: %d", MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
}
