# SPDX-License-Identifier: BSD-3-Clause
"""xarray.open_dataset(path, engine="glean"): reads what is on its way, or any NetCDF or HDF5 file, when its elements are asked for."""

from __future__ import annotations

import os
from typing import Any, Optional

import numpy as np
import xarray
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing

from ._input import Input, InputVariable
from ._session import Session


class _Array(BackendArray):
    """A variable that is read when it is indexed."""

    def __init__(self, variable: InputVariable) -> None:
        self.variable, self.shape, self.dtype = variable, variable.shape, variable.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self.variable.read)


class _Store(AbstractDataStore):
    def __init__(self, input: Input, own: Optional[Session]) -> None:
        self._input, self._own = input, own

    def get_variables(self) -> dict[str, xarray.Variable]:
        return {name: xarray.Variable(variable.dimensions, indexing.LazilyIndexedArray(_Array(variable)), dict(variable.attrs))
                for name, variable in self._input.items()}

    def get_attrs(self) -> dict[str, Any]:
        return dict(self._input.attrs)

    def close(self) -> None:
        self._input.close()
        if self._own is not None:
            self._own.close()


class GleanBackendEntrypoint(BackendEntrypoint):
    """`session`: of which the file is an output; without one the file is read as it is. `reading` and `timeout`: as Session.open_input."""

    description = "Outputs of a GLEAN session, also those that are not complete yet, and NetCDF and HDF5 files"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "session", "reading", "timeout", "mask_and_scale", "decode_times",
                               "concat_characters", "decode_coords", "use_cftime", "decode_timedelta")

    def open_dataset(self, filename_or_obj: Any, *, drop_variables: Any = None, session: Optional[Session] = None,
                     reading: Any = "published", timeout: Optional[float] = None, mask_and_scale: Any = True, decode_times: Any = True,
                     concat_characters: Any = True, decode_coords: Any = True, use_cftime: Any = None,
                     decode_timedelta: Any = None) -> xarray.Dataset:
        own = None
        if session is None:
            from mpi4py import MPI

            own = session = Session(MPI.COMM_SELF, mode="passthrough")   # no pool: it only reads
        store = None
        try:
            store = _Store(session.open_input(os.fspath(filename_or_obj), reading, timeout), own)
            return StoreBackendEntrypoint().open_dataset(
                store, mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters,
                decode_coords=decode_coords, drop_variables=drop_variables, use_cftime=use_cftime, decode_timedelta=decode_timedelta)
        except BaseException:   # also a file that cannot be decoded
            if store is not None:
                store.close()
            elif own is not None:
                own.close()
            raise
