! SPDX-License-Identifier: BSD-3-Clause
! PnetCDF's interface of Fortran 77: collective, independent and nonblocking puts of each kind.
      program nfmpi
      implicit none
      include 'mpif.h'
      include 'pnetcdf.inc'
      integer err, rank, ncid, dims(2), v(5), req(1), st(1), i, hints
      integer*8 length, start(2), cnt(2), stride(2), imap(2)
      double precision d(12)
      real r(12)
      integer n(12)

      call MPI_Init(err)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
      do i = 1, 12
        d(i) = i + 100 * rank
        r(i) = i + 200 * rank
        n(i) = i + 300 * rank
      end do
! Of ROMIO: it fills holes with what was in memory.
      call MPI_Info_create(hints, err)
      call MPI_Info_set(hints, 'romio_ds_write', 'disable', err)
      call MPI_Info_set(hints, 'romio_cb_write', 'disable', err)
      err = nfmpi_create(MPI_COMM_WORLD, 'nfmpi.nc', NF_CLOBBER,        &
     &                   hints, ncid)
      length = 12
      err = nfmpi_def_dim(ncid, 'x', length, dims(1))
      length = 2
      err = nfmpi_def_dim(ncid, 'y', length, dims(2))
      err = nfmpi_def_var(ncid, 'a', NF_DOUBLE, 2, dims, v(1))
      err = nfmpi_def_var(ncid, 'b', NF_REAL, 2, dims, v(2))
      err = nfmpi_def_var(ncid, 'c', NF_INT, 2, dims, v(3))
      err = nfmpi_def_var(ncid, 'd', NF_DOUBLE, 2, dims, v(4))
      err = nfmpi_def_var(ncid, 'e', NF_DOUBLE, 2, dims, v(5))
      err = nfmpi_enddef(ncid)
      start(1) = 1
      start(2) = rank + 1
      cnt(1) = 12
      cnt(2) = 1
      stride(1) = 2
      stride(2) = 1
      imap(1) = 1
      imap(2) = 12
      err = nfmpi_put_vara_double_all(ncid, v(1), start, cnt, d)
      print *, rank, 'vara', err
      err = nfmpi_iput_vara_real(ncid, v(2), start, cnt, r, req(1))
      err = nfmpi_wait_all(ncid, 1, req, st)
      print *, rank, 'iput', err, req(1), st(1)
      err = nfmpi_put_vara_all(ncid, v(4), start, cnt, d, cnt(1),       &
     &                         MPI_DOUBLE_PRECISION)
      print *, rank, 'flexible', err
      cnt(1) = 6
      err = nfmpi_put_vars_int_all(ncid, v(3), start, cnt, stride, n)
      print *, rank, 'vars', err
      err = nfmpi_put_varm_double_all(ncid, v(5), start, cnt, stride,   &
     &                                imap, d)
      print *, rank, 'varm', err
      err = nfmpi_begin_indep_data(ncid)
      err = nfmpi_put_var1_double(ncid, v(5), start, d(7))
      print *, rank, 'var1', err
      err = nfmpi_end_indep_data(ncid)
      err = nfmpi_close(ncid)
      print *, rank, 'close', err
      call MPI_Finalize(err)
      end program
