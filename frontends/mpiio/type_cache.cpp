// SPDX-License-Identifier: BSD-3-Clause
#include "type_cache.hpp"

#include <mutex>

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

const Kept* kept_with(MPI_Datatype datatype) {
  void* value = nullptr;
  int found = 0;
  PMPI_Type_get_attr(datatype, keyval(), &value, &found);
  return found != 0 ? static_cast<const Kept*>(value) : nullptr;
}

}  // namespace

Kept flat_type(MPI_Datatype datatype) {
  if (const Kept* kept = kept_with(datatype)) return *kept;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);   // what is kept is never replaced: another thread may be taking it
  if (const Kept* kept = kept_with(datatype)) return *kept;
  Kept flat;
  const auto unknown = session::caught([&] { flat = std::make_shared<const FlatType>(datatype); });
  if (unknown) base::log(base::LogLevel::warning, "{}: MPI writes what is written with this datatype", unknown->what());
  auto* kept = new Kept(flat);
  if (PMPI_Type_set_attr(datatype, keyval(), kept) != MPI_SUCCESS) delete kept;
  return flat;
}

}  // namespace glean::mpiio
