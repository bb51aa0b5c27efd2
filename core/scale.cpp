#include "scale.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "forest.hpp"
#include "rounding.hpp"

namespace treeproof {
namespace {

constexpr std::int64_t kFar = std::int64_t{1} << 40;
constexpr std::int64_t kUsual = 8;  // up to so many times the median of the trees' largest scores is usual

// The largest absolute score of a leaf, for any class.
std::int64_t size_of_scores(const Forest& forest, std::int32_t leaf) {
  const std::int64_t* const scores = forest.scores_of(leaf);
  std::int64_t most = 0;
  for (int k = 0; k < forest.n_classes; ++k) most = std::max(most, std::abs(scores[k]));
  return most;
}

// Per tree, the largest size of a leaf; at least as much.
template <typename Number, typename Size>
std::vector<Number> largest_of_trees(const Forest& forest, Number least, const Size& size) {
  std::vector<std::int32_t> tree(forest.nodes.size(), 0);
  std::vector<Number> largest(std::max<std::size_t>(forest.roots.size(), 1), least);
  for (std::size_t t = 0; t < forest.roots.size(); ++t) tree[forest.roots[t]] = static_cast<std::int32_t>(t);
  for (std::size_t n = 0; n < forest.nodes.size(); ++n) {  // children lie behind their parents
    const Node& node = forest.nodes[n];
    if (node.feature >= 0) {
      tree[node.left] = tree[node.right] = tree[n];
    } else {
      largest[tree[n]] = std::max(largest[tree[n]], size(static_cast<std::int32_t>(n)));
    }
  }
  return largest;
}

// The mean size of a leaf, of which no more counts than `most`.
template <typename Number, typename Size>
double mean_of_leaves(const Forest& forest, Number most, const Size& size) {
  double sum = 0, n_leaves = 0;
  for (std::size_t n = 0; n < forest.nodes.size(); ++n) {
    if (forest.nodes[n].feature >= 0) continue;
    sum += static_cast<double>(std::min(size(static_cast<std::int32_t>(n)), most));
    ++n_leaves;
  }
  return sum / std::max(n_leaves, 1.0);
}

// One that is not below the others of the smaller half.
template <typename Number>
Number median(std::vector<Number> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

}  // namespace

Scale::Scale(const Forest& forest) {
  const auto size = [&](std::int32_t leaf) { return size_of_scores(forest, leaf); };
  const std::vector<std::int64_t> of_trees = largest_of_trees(forest, std::int64_t{1}, size);
  const std::int64_t largest = *std::max_element(of_trees.begin(), of_trees.end());
  const auto shift_for = [](std::int64_t score) {  // score < 2^bit_width
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(score))) - kBits;
  };
  shift_ = largest == 1 ? -kBits : shift_for(largest);
  const std::int64_t usual = kUsual * median(of_trees);
  std::int64_t counted = largest;  // what of a leaf's score counts for the mean
  // Where others may ask for other targets later, nothing outweighs them all.
  if (const int widest = shift_; usual < largest && widest > 0 && forest.vote != Vote::exact) {
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
  typical_ = value(static_cast<std::int64_t>(mean_of_leaves(forest, counted, size)));
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

std::optional<Scale> Scale::finer(const Forest& forest) {
  const Sums& sums = forest.sums;
  if (forest.vote != Vote::sum || !forest.exponent || !sums.cut || sums.divisor != 1 || !sums.members.empty())
    return {};
  const auto size = [&](std::int32_t leaf) { return std::fabs(forest.values[static_cast<std::size_t>(leaf)]); };
  const std::vector<double> of_trees = largest_of_trees(forest, 0.0, size);
  // No sum may overflow, rounded as it may be.
  double largest = std::fabs(sums.start[0]);
  for (const double value : of_trees) largest += value;
  if (!(4 * largest < (sums.single ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max())))
    return {};
  const double usual = static_cast<double>(kUsual) * median(of_trees);
  // Scores of usual leaves with less bits than a value has: finer ones matter.
  if (!(usual > 0) || std::ilogb(usual) + *forest.exponent >= kBits) return {};
  const double typical = mean_of_leaves(forest, usual, size);
  Scale scale;
  scale.lowest_ = kLowest;
  scale.highest_ = kHighest;
  for (int exponent = kBits - 1 - std::ilogb(usual); exponent > *forest.exponent; --exponent) {
    scale.exponent_ = exponent;
    scale.typical_ = scale.rounded_up(typical);
    // The highest value and the least of all other trees must reach every target.
    std::int64_t others = 0, target = 0;
    for (const double value : of_trees) others += scale.rounded_up(-value);
    for (int k = 1; k < forest.n_classes; ++k)
      for (const Pair pair : {Pair{k, k - 1}, Pair{k - 1, k}})
        target = std::max(target, scale.exact_target(forest, pair));
    if (kHighest + others >= target) return scale;
  }
  return {};
}

std::int32_t Scale::value(const Forest& forest, std::int32_t leaf, Pair pair) const {
  if (exponent_) {  // the label ascends with the sum
    const double value = forest.values[leaf];
    return rounded_up(pair.winner > pair.loser ? value : -value);
  }
  const std::int64_t* const score = forest.scores_of(leaf);
  return value(score[pair.winner] - score[pair.loser]);
}

// What `ldexp` loses of numbers that are as small as numbers get does not add up to a unit, in a sum of any number of
// trees, and sums and targets are whole: none moves across the other.
std::int32_t Scale::rounded_up(double value) const {
  const double scaled = std::ceil(std::ldexp(value, *exponent_));
  return static_cast<std::int32_t>(std::clamp(scaled, static_cast<double>(lowest_), static_cast<double>(highest_)));
}

// The least that a sum of values is with which the pair is won, if the model's own sums are off by so much; or less.
std::int64_t Scale::scaled_cut(const Forest& forest, Pair pair, double off) const {
  constexpr double kFarCut =
      0x1p56;  // no sum of values is as far from 0, and rounding that takes as much decides nothing
  const double cut = forest.sums.cuts[std::max(pair.winner, pair.loser) - 1], start = forest.sums.start[0];
  const double more = pair.winner > pair.loser ? cut : start, less = pair.winner > pair.loser ? start : cut;
  // What is missing, more - less, is `high` + `low` exactly [Knuth, TAOCP 2, 4.2.2]: either may be far larger than it.
  const double high = more - less, part = more - high, low = (more - (high + part)) - (less - part);
  const double scaled = std::ldexp(high, *exponent_), scaled_off = std::ldexp(off, *exponent_);
  if (!(scaled > -kFarCut && scaled_off < kFarCut)) return static_cast<std::int64_t>(-2 * kFarCut);
  if (scaled > kFarCut) return static_cast<std::int64_t>(kFarCut / 2);
  const auto below = [&](double number) {
    return static_cast<std::int64_t>(std::floor(std::ldexp(number, *exponent_)));
  };
  return below(high) + below(low) + below(-off);
}

std::int64_t Scale::target(const Forest& forest, Pair pair) const {
  if (!exponent_) return scaled(forest, pair, forest.band);
  const double off = std::ldexp(static_cast<double>(forest.band) * (1 + 0x1p-50), -*forest.exponent);
  return scaled_cut(forest, pair, off);
}

std::int64_t Scale::exact_target(const Forest& forest, Pair pair) const {
  return exponent_ ? scaled_cut(forest, pair, 0) : scaled(forest, pair, {});
}

std::int64_t Scale::target_in(const Forest& forest, const Outline& outline, Pair pair) const {
  if (!exponent_) return scaled(forest, pair, band_in(forest, outline, pair));
  const double off = error_in(forest, outline, pair);
  return std::max(target(forest, pair), scaled_cut(forest, pair, off));
}

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
