#include "scale.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "forest.hpp"

namespace treeproof {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 40;

}  // namespace

Scale::Scale(const Forest& forest) {
  std::int64_t largest = 1;
  for (const std::int64_t score : forest.scores) largest = std::max(largest, std::abs(score));
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(largest)));  // largest < 2^bits
  shift_ = largest == 1 ? -kBits : bits - kBits;
  double sum = 0, n_leaves = 0;
  for (std::size_t n = 0; n < forest.nodes.size(); ++n) {
    if (forest.nodes[n].feature >= 0) continue;
    const std::int64_t* const scores = forest.scores_of(static_cast<std::int32_t>(n));
    std::int64_t most = 0;
    for (int k = 0; k < forest.n_classes; ++k) most = std::max(most, std::abs(scores[k]));
    sum += static_cast<double>(most);
    ++n_leaves;
  }
  typical_ = value(static_cast<std::int64_t>(sum / std::max(n_leaves, 1.0)));
}

std::int64_t Scale::scaled(const Forest& forest, Pair pair, bool with_band) const {
  std::int64_t least = forest.least(pair.winner, pair.loser);
  const bool votes = forest.vote == Vote::majority || (!with_band && forest.unit != 0);
  if (votes && forest.n_classes == 2) {
    // Every tree adds 1 or -1 votes, so the sum has the parity of the number of trees.
    if ((least - static_cast<std::int64_t>(forest.roots.size())) % 2 != 0) ++least;
  }
  if (votes && forest.unit != 0) least *= forest.unit;
  if (with_band) least -= forest.band;
  // Where scores are multiplied, sums of them stay far below 2^40: beyond that, all targets are alike.
  if (shift_ <= 0) return std::clamp(least, -kFar, kFar) * (std::int64_t{1} << -shift_);
  return -((-least) >> shift_);
}

}  // namespace treeproof
