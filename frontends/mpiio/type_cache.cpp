// SPDX-License-Identifier: BSD-3-Clause
#include "type_cache.hpp"

#include "base/log.hpp"
#include "session/agreement.hpp"

namespace glean::mpiio {
namespace {

using Kept = std::shared_ptr<const FlatType>;

int forget(MPI_Datatype /*datatype*/, int /*keyval*/, void* value, void* /*state*/) {
  delete static_cast<Kept*>(value);
  return MPI_SUCCESS;
}

int keyval() {
  static const int made = [] {
    int key = MPI_KEYVAL_INVALID;
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &key, nullptr);
    return key;
  }();
  return made;
}

}  // namespace

Kept flat_type(MPI_Datatype datatype) {
  void* value = nullptr;
  int found = 0;
  PMPI_Type_get_attr(datatype, keyval(), &value, &found);
  if (found != 0) return *static_cast<Kept*>(value);
  Kept flat;
  const auto unknown = session::caught([&] { flat = std::make_shared<const FlatType>(datatype); });
  if (unknown) base::log(base::LogLevel::warning, "{}: MPI writes what is written with this datatype", unknown->what());
  auto* kept = new Kept(flat);
  if (PMPI_Type_set_attr(datatype, keyval(), kept) != MPI_SUCCESS) delete kept;
  return flat;
}

}  // namespace glean::mpiio
