# SPDX-License-Identifier: BSD-3-Clause
"""xarray.open_dataset(path, engine="glean"): reads what is on its way, or any NetCDF or HDF5 file, when its elements are asked for."""

from __future__ import annotations

import os
import threading
from typing import Any, Optional

import numpy as np
import xarray
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint, CachingFileManager, FileManager
from xarray.backends.file_manager import DummyFileManager
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing

from ._errors import InvalidState
from ._input import Input
from ._session import Session


class _Alone:
    """The session of this process alone that reads files which are no outputs of a session, while any of them is open."""

    def __init__(self) -> None:
        self._turn, self._files = threading.RLock(), 0
        self._session: Optional[Session] = None

    def open(self, path: str) -> Input:
        with self._turn:
            if self._session is None:
                from mpi4py import MPI

                self._session = Session(MPI.COMM_SELF, mode="passthrough")   # no pool: it only reads
            self._files += 1
            try:
                return self._session.open_input(path)
            except BaseException:
                self.leave()
                raise

    def leave(self) -> None:
        with self._turn:
            self._files -= 1
            if self._files == 0 and self._session is not None:
                self._session.close()
                self._session = None


_alone = _Alone()


class _File:
    """A file of the session alone, as xarray's cache of open files has it."""

    def __init__(self, path: str) -> None:
        self.input: Optional[Input] = _alone.open(path)

    def close(self) -> None:
        input, self.input = self.input, None
        if input is not None:
            input.close()
            _alone.leave()


def _input_of(file: Any) -> Input:
    input = file.input if isinstance(file, _File) else file
    if input is None:
        raise InvalidState("the file is closed")
    return input


class _Array(BackendArray):
    """A variable that is read when it is indexed."""

    def __init__(self, files: FileManager, name: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.files, self.name, self.shape, self.dtype = files, name, shape, dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: Any) -> np.ndarray:
        while True:
            file = self.files.acquire()
            try:
                return _input_of(file)[self.name].read(key)
            except InvalidState:   # another thread has opened so many files meanwhile that the cache has closed this one
                if not isinstance(file, _File) or file.input is not None:
                    raise


class _Store(AbstractDataStore):
    def __init__(self, files: FileManager) -> None:
        self._files = files

    def get_variables(self) -> dict[str, xarray.Variable]:
        return {name: xarray.Variable(variable.dimensions,
                                      indexing.LazilyIndexedArray(_Array(self._files, name, variable.shape, variable.dtype)),
                                      dict(variable.attrs))
                for name, variable in _input_of(self._files.acquire()).items()}

    def get_attrs(self) -> dict[str, Any]:
        return dict(_input_of(self._files.acquire()).attrs)

    def close(self) -> None:
        self._files.close()


class GleanBackendEntrypoint(BackendEntrypoint):
    """`session`: of which the file is an output; without one the file is read as it is, closed while many others are open, and opened
    again by its path; such a dataset can be pickled. `reading` and `timeout`: as Session.open_input."""

    description = "Outputs of a GLEAN session, also those that are not complete yet, and NetCDF and HDF5 files"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "session", "reading", "timeout", "mask_and_scale", "decode_times",
                               "concat_characters", "decode_coords", "use_cftime", "decode_timedelta")

    def open_dataset(self, filename_or_obj: Any, *, drop_variables: Any = None, session: Optional[Session] = None,
                     reading: Any = "published", timeout: Optional[float] = None, mask_and_scale: Any = True, decode_times: Any = True,
                     concat_characters: Any = True, decode_coords: Any = True, use_cftime: Any = None,
                     decode_timedelta: Any = None) -> xarray.Dataset:
        path = os.fspath(filename_or_obj)
        files: FileManager
        if session is None:
            files = CachingFileManager(_File, path)
        else:
            files = DummyFileManager(session.open_input(path, reading, timeout))
        store = _Store(files)
        try:
            return StoreBackendEntrypoint().open_dataset(
                store, mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters,
                decode_coords=decode_coords, drop_variables=drop_variables, use_cftime=use_cftime, decode_timedelta=decode_timedelta)
        except BaseException:   # also a file that cannot be decoded
            store.close()
            raise
