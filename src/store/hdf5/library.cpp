// SPDX-License-Identifier: BSD-3-Clause
#include "store/hdf5/library.hpp"

#include "base/error.hpp"

namespace glean::store {
namespace {

// The innermost says what is wrong.
herr_t keep_first(unsigned /*n*/, const H5E_error2_t* error, void* said) {
  auto& text = *static_cast<std::string*>(said);
  if (text.empty() && error->desc != nullptr) text = error->desc;
  return 0;
}

}  // namespace

void fail_in_hdf5(const std::string& what) {
  std::string said;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &said);
  H5Eclear2(H5E_DEFAULT);
  throw base::Error(base::Errc::invalid_argument, what + ": HDF5 says: " + (said.empty() ? "nothing" : said));
}

QuietErrors::QuietErrors() {
  H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

QuietErrors::~QuietErrors() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

}  // namespace glean::store
