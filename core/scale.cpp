#include "scale.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "forest.hpp"

namespace treeproof {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 40;
constexpr std::int64_t kUsual = 8;  // up to so many times the median of the trees' largest scores is usual

// Per tree, the largest absolute score of a leaf; at least 1.
std::vector<std::int64_t> largest_of_trees(const Forest& forest) {
  std::vector<std::int32_t> tree(forest.nodes.size(), 0);
  std::vector<std::int64_t> largest(std::max<std::size_t>(forest.roots.size(), 1), 1);
  for (std::size_t t = 0; t < forest.roots.size(); ++t) tree[forest.roots[t]] = static_cast<std::int32_t>(t);
  for (std::size_t n = 0; n < forest.nodes.size(); ++n) {  // children lie behind their parents
    const Node& node = forest.nodes[n];
    if (node.feature >= 0) {
      tree[node.left] = tree[node.right] = tree[n];
      continue;
    }
    const std::int64_t* const scores = forest.scores_of(static_cast<std::int32_t>(n));
    for (int k = 0; k < forest.n_classes; ++k) largest[tree[n]] = std::max(largest[tree[n]], std::abs(scores[k]));
  }
  return largest;
}

// One that is not below the others of the smaller half.
std::int64_t median(std::vector<std::int64_t> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

}  // namespace

Scale::Scale(const Forest& forest) {
  const std::vector<std::int64_t> of_trees = largest_of_trees(forest);
  const std::int64_t largest = *std::max_element(of_trees.begin(), of_trees.end());
  const auto shift_for = [](std::int64_t score) {  // score < 2^bit_width
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(score))) - kBits;
  };
  shift_ = largest == 1 ? -kBits : shift_for(largest);
  const std::int64_t usual = kUsual * median(of_trees);
  std::int64_t counted = largest;  // what of a leaf's score counts for the mean
  if (const int widest = shift_; usual < largest && widest > 0) {
    lowest_ = kLowest;
    highest_ = kHighest;
    counted = usual;
    for (shift_ = std::max(shift_for(usual), 1); shift_ < widest && !outweighs_all(forest, of_trees); ++shift_) {
    }
    if (shift_ == widest) {  // nothing is cut off
      lowest_ = std::numeric_limits<std::int32_t>::min();
      highest_ = std::numeric_limits<std::int32_t>::max();
      counted = largest;
    }
  }
  double sum = 0, n_leaves = 0;
  for (std::size_t n = 0; n < forest.nodes.size(); ++n) {
    if (forest.nodes[n].feature >= 0) continue;
    const std::int64_t* const scores = forest.scores_of(static_cast<std::int32_t>(n));
    std::int64_t most = 0;
    for (int k = 0; k < forest.n_classes; ++k) most = std::max(most, std::abs(scores[k]));
    sum += static_cast<double>(std::min(most, counted));
    ++n_leaves;
  }
  typical_ = value(static_cast<std::int64_t>(sum / std::max(n_leaves, 1.0)));
}

// Whether, with the present unit, the highest value and the least of all other trees reach every target.
bool Scale::outweighs_all(const Forest& forest, const std::vector<std::int64_t>& largest) const {
  std::int64_t others = 0, target = 0;
  for (const std::int64_t score : largest) others += value(-2 * score);  // no difference of scores is below that
  for (int k = 0; k < forest.n_classes; ++k)
    for (int c = 0; c < forest.n_classes; ++c)
      if (k != c) target = std::max(target, exact_target(forest, {k, c}));
  return kHighest + others >= target;
}

std::int64_t Scale::target(const Forest& forest, Pair pair) const { return scaled(forest, pair, forest.band); }

std::int64_t Scale::scaled(const Forest& forest, Pair pair, std::optional<std::int64_t> band) const {
  std::int64_t least = forest.least(pair.winner, pair.loser);
  const bool votes = forest.vote == Vote::majority || (!band && forest.unit != 0);
  if (votes && forest.n_classes == 2) {
    // Every tree adds 1 or -1 votes, so the sum has the parity of the number of trees.
    if ((least - static_cast<std::int64_t>(forest.roots.size())) % 2 != 0) ++least;
  }
  if (votes && forest.unit != 0) least *= forest.unit;
  least -= band.value_or(0);
  // Where scores are multiplied, sums of them stay far below 2^40: beyond that, all targets are alike.
  if (shift_ <= 0) return std::clamp(least, -kFar, kFar) * (std::int64_t{1} << -shift_);
  return -((-least) >> shift_);
}

}  // namespace treeproof
