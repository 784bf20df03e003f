/* SPDX-License-Identifier: BSD-3-Clause */
/* Included first where cases are compiled again: their data calls are those of MPI-4 then, whose counts are MPI_Count. */
#ifndef GLEAN_TESTS_TRANSPARENT_LARGE_COUNTS_H
#define GLEAN_TESTS_TRANSPARENT_LARGE_COUNTS_H

#include <mpi.h>

#define CASE_PREFIX "large_counts_"

#define MPI_File_read_at(...) MPI_File_read_at_c(__VA_ARGS__)
#define MPI_File_read_at_all(...) MPI_File_read_at_all_c(__VA_ARGS__)
#define MPI_File_read(...) MPI_File_read_c(__VA_ARGS__)
#define MPI_File_read_all(...) MPI_File_read_all_c(__VA_ARGS__)
#define MPI_File_read_shared(...) MPI_File_read_shared_c(__VA_ARGS__)
#define MPI_File_read_ordered(...) MPI_File_read_ordered_c(__VA_ARGS__)
#define MPI_File_iread_at(...) MPI_File_iread_at_c(__VA_ARGS__)
#define MPI_File_iread_at_all(...) MPI_File_iread_at_all_c(__VA_ARGS__)
#define MPI_File_iread(...) MPI_File_iread_c(__VA_ARGS__)
#define MPI_File_iread_all(...) MPI_File_iread_all_c(__VA_ARGS__)
#define MPI_File_iread_shared(...) MPI_File_iread_shared_c(__VA_ARGS__)
#define MPI_File_read_at_all_begin(...) MPI_File_read_at_all_begin_c(__VA_ARGS__)
#define MPI_File_read_all_begin(...) MPI_File_read_all_begin_c(__VA_ARGS__)
#define MPI_File_read_ordered_begin(...) MPI_File_read_ordered_begin_c(__VA_ARGS__)
#define MPI_File_write_at(...) MPI_File_write_at_c(__VA_ARGS__)
#define MPI_File_write_at_all(...) MPI_File_write_at_all_c(__VA_ARGS__)
#define MPI_File_write(...) MPI_File_write_c(__VA_ARGS__)
#define MPI_File_write_all(...) MPI_File_write_all_c(__VA_ARGS__)
#define MPI_File_write_shared(...) MPI_File_write_shared_c(__VA_ARGS__)
#define MPI_File_write_ordered(...) MPI_File_write_ordered_c(__VA_ARGS__)
#define MPI_File_iwrite_at(...) MPI_File_iwrite_at_c(__VA_ARGS__)
#define MPI_File_iwrite_at_all(...) MPI_File_iwrite_at_all_c(__VA_ARGS__)
#define MPI_File_iwrite(...) MPI_File_iwrite_c(__VA_ARGS__)
#define MPI_File_iwrite_all(...) MPI_File_iwrite_all_c(__VA_ARGS__)
#define MPI_File_iwrite_shared(...) MPI_File_iwrite_shared_c(__VA_ARGS__)
#define MPI_File_write_at_all_begin(...) MPI_File_write_at_all_begin_c(__VA_ARGS__)
#define MPI_File_write_all_begin(...) MPI_File_write_all_begin_c(__VA_ARGS__)
#define MPI_File_write_ordered_begin(...) MPI_File_write_ordered_begin_c(__VA_ARGS__)

#endif
