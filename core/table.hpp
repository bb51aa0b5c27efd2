// The label of every point, listed once: for spaces of few points nothing is faster than looking them up.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "branch_and_bound.hpp"

namespace treeproof {

class Table {
 public:
  // Null if the space has too many points, or listing them would take longer than some milliseconds.
  static std::unique_ptr<const Table> make(const Forest& forest);

  // As Searcher::decide. A witness differs from `home` in as few features as possible; of the features and clauses used
  // by a proof none can be left out.
  Outcome decide(const Box& box, Claim claim, const std::vector<Cell>& home) const;

 private:
  explicit Table(const Forest& forest);

  // Whether the claim holds at all points of the box that keep the clauses in `kept`, a bit each.
  bool holds(const Box& box, Claim claim, Word kept) const;

  // Call `visit` with every point of the box and its place in the list; ends early when `visit` returns false.
  template <typename Visit>
  bool for_each_point(const Box& box, const Visit& visit) const;

  const Forest& forest_;
  std::vector<std::size_t> stride_;  // per feature: how far apart the places of neighbouring cells lie
  std::vector<std::int32_t> label_;
  std::vector<Word> broken_;        // the clauses that a point breaks, a bit each
  std::vector<std::uint8_t> near_;  // whether the label rests on float sums inside the rounding band
};

}  // namespace treeproof
