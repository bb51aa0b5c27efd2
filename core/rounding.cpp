#include "rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace treeproof {
namespace {

// How far the model's own sum of class k may be from the exact one, and the largest that it may be on the way.
struct Error {
  double off = 0, largest = 0;
};

template <typename Number>
Error error_of(const Forest& forest, const std::vector<std::pair<double, double>>& ranges, double start) {
  auto low = static_cast<Number>(start), high = low;
  double size = 0;
  Error error{0, std::fabs(start)};
  for (const auto& [least, most] : ranges) {
    if (least == 0 && most == 0) continue;  // adding 0 rounds nothing
    low += static_cast<Number>(least);
    high += static_cast<Number>(most);
    const double reached = std::max(std::fabs(static_cast<double>(low)), std::fabs(static_cast<double>(high)));
    error.largest = std::max(error.largest, reached);
    size += reached;
  }
  // The sum of sizes is itself rounded, by much less than the factor allows for.
  error.off = size * forest.sums.unit() * (1 + 0x1p-20);
  return error;
}

}  // namespace

void Terms::start(const Forest& forest, Pair pair) {
  forest_ = &forest;
  n_sums_ = forest.sums.start.size();
  first_ = forest.sums.cut ? 0 : static_cast<std::size_t>(pair.winner);
  second_ = forest.sums.cut ? 0 : static_cast<std::size_t>(pair.loser);
  least_.assign(forest.roots.size() * n_sums_, std::numeric_limits<double>::infinity());
  most_.assign(forest.roots.size() * n_sums_, -std::numeric_limits<double>::infinity());
}

void Terms::meet(std::size_t tree, std::int32_t leaf) {
  for (const std::size_t k : {first_, second_}) {
    const double value = forest_->values[static_cast<std::size_t>(leaf) * n_sums_ + k];
    double &least = least_[tree * n_sums_ + k], &most = most_[tree * n_sums_ + k];
    least = std::min(least, value);
    most = std::max(most, value);
  }
}

bool Terms::never_wins(Pair pair) const {
  const Sums& sums = forest_->sums;
  if (sums.sigmoid != 0) return false;
  const std::vector<double> low = forest_->float_sums_of(least_), high = forest_->float_sums_of(most_);
  for (const std::size_t k : {first_, second_})  // where a sum overflows, later ones need not ascend
    if (!std::isfinite(low[k]) || !std::isfinite(high[k])) return false;
  if (sums.cut) {  // the label ascends with the sum
    return pair.winner > pair.loser ? forest_->label_of_sums(high) < pair.winner
                                    : forest_->label_of_sums(low) > pair.winner;
  }
  const double most = high[first_], least = low[second_];
  if (sums.softmax) return least - most > sums.softmax_gap();
  return pair.winner < pair.loser ? most < least : most <= least;
}

double error_in(const Forest& forest, const Outline& outline, Pair pair) {
  const Sums& sums = forest.sums;
  const bool known = forest.exponent && sums.sigmoid == 0 && sums.members.empty() && sums.divisor <= 0x1p32;
  if (!known || (sums.cut && !forest.are_rivals(pair.winner, pair.loser)))
    return std::numeric_limits<double>::infinity();
  std::vector<int> classes{0};  // of the sums that matter
  if (!sums.cut) classes = {pair.winner, pair.loser};
  const std::size_t n_sums = sums.start.size();
  std::vector<std::vector<std::pair<double, double>>> ranges(classes.size());
  const auto meet = [&](std::int32_t at) {
    if (at >= 0) return;
    for (std::size_t i = 0; i < classes.size(); ++i) {
      const double value = forest.values[static_cast<std::size_t>(~at) * n_sums + static_cast<std::size_t>(classes[i])];
      auto& [least, most] = ranges[i].back();
      least = std::min(least, value);
      most = std::max(most, value);
    }
  };
  for (const Outline::Tree& tree : outline.trees) {
    for (auto& of_class : ranges)
      of_class.emplace_back(std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity());
    meet(tree.root);
    if (tree.root < 0) continue;
    for (const Outline::Fork& fork : tree.growth->forks) {
      meet(fork.left);
      meet(fork.right);
    }
  }
  double off = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const double start = sums.start[classes[i]];
    const Error error =
        sums.single ? error_of<float>(forest, ranges[i], start) : error_of<double>(forest, ranges[i], start);
    off += error.off;
    // A quotient is off by u of its size; where that is subnormal, by less than the 1 below.
    if (sums.divisor != 1) off += 2 * sums.unit() * error.largest;
  }
  if (sums.softmax) off += 16 * sums.unit() * std::max(1.0, sums.divisor);
  return off;
}

std::int64_t band_in(const Forest& forest, const Outline& outline, Pair pair) {
  const double off = error_in(forest, outline, pair);
  if (!std::isfinite(off)) return forest.band;
  const double scaled = std::ldexp(off, *forest.exponent);
  if (!(scaled < 0x1p61)) return forest.band;
  // Each tree's difference of two floors is off by less than 1, and so is what sums start from or must reach. Where a
  // score is cut, class k gets k times the score, and rivals are neighbours.
  const auto n_trees = static_cast<std::int64_t>(forest.roots.size());
  return std::min(forest.band, static_cast<std::int64_t>(std::ceil(scaled)) + n_trees + 4);
}

}  // namespace treeproof
