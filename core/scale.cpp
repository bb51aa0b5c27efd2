#include "scale.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "forest.hpp"

namespace treeproof {

Scale::Scale(const Forest& forest) {
  std::int64_t largest = 1;
  for (const std::int64_t score : forest.scores) largest = std::max(largest, std::abs(score));
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(largest)));  // largest < 2^bits
  shift_ = largest == 1 ? -kBits : bits - kBits;
}

std::int64_t Scale::scaled(const Forest& forest, Pair pair, bool with_band) const {
  std::int64_t least = theta(pair.winner, pair.loser);
  const bool votes = forest.vote == Vote::majority || (!with_band && forest.unit != 0);
  if (votes && forest.n_classes == 2) {
    // Every tree adds 1 or -1 votes, so the sum has the parity of the number of trees.
    if ((least - static_cast<std::int64_t>(forest.roots.size())) % 2 != 0) ++least;
  }
  if (votes && forest.unit != 0) least *= forest.unit;
  if (with_band) least -= forest.band;
  if (shift_ <= 0) return least << -shift_;
  return -((-least) >> shift_);
}

}  // namespace treeproof
