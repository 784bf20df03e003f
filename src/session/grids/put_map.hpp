// SPDX-License-Identifier: BSD-3-Clause
//
// Where a put goes that is not one box of one variable of the file.
#pragma once

#include <cstdint>
#include <vector>

#include "mesh/box.hpp"

namespace glean::session {

class PutMap {
 public:
  // Takes `part` of a box that is put: its elements, in their order, are those of the box `file` of a variable of the file.
  class Receiver {
   public:
    virtual void take(int variable, const mesh::Box& file, const mesh::Box& part) = 0;

   protected:
    ~Receiver() = default;
  };
  virtual ~PutMap() = default;
  // `box` lies in this rank's block `block` of the program's variable. What the file has no place for is left out. Not for several threads.
  virtual void split(std::size_t block, const mesh::Box& box, Receiver& receiver) const = 0;
};

// Points that neighbouring blocks share are put by one of them.
class OwnPoints final : public PutMap {
 public:
  // `own`: of each block, with the components of the variable.
  OwnPoints(int variable, std::vector<mesh::Box> own) : variable_(variable), own_(std::move(own)) {}
  void split(std::size_t block, const mesh::Box& box, Receiver& receiver) const override;

 private:
  int variable_;
  std::vector<mesh::Box> own_;
  mutable mesh::Box part_;   // it has room already
};

// Blocks of an AMR grid whose elements the file has in a list for each level, one block after the other.
class AmrLevels final : public PutMap {
 public:
  struct Place {
    int variable;              // of the file: that of the level
    std::uint64_t position;    // of the block in its level
  };
  // `elements`: of a block, slowest dimension first, without components.
  AmrLevels(std::uint64_t first_block, std::vector<Place> blocks, mesh::Shape elements, bool has_components)
      : first_block_(first_block), blocks_(std::move(blocks)), elements_(std::move(elements)), has_components_(has_components) {}
  void split(std::size_t block, const mesh::Box& box, Receiver& receiver) const override;

 private:
  void split_block(const Place& place, Receiver& receiver) const;
  void give(const Place& place, std::uint64_t first, std::uint64_t count, Receiver& receiver) const;

  std::uint64_t first_block_;
  std::vector<Place> blocks_;   // of this rank
  mesh::Shape elements_;        // of a block
  bool has_components_;
  mutable mesh::Box part_, file_;
};

}  // namespace glean::session
