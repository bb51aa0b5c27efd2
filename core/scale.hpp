// Scores as the small integers that bounds are computed with, always rounded outward.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace treeproof {

struct Forest;
struct Outline;

struct Pair {
  int winner, loser;
};

// Scales integer scores to the small integers that bounds are computed with. Values are rounded up, so that sums of
// them are upper bounds.
//
// A few leaves of a model may be a million times as large as all others: gradient boosting divides by p (1 - p), which
// vanishes. Next to them, other leaves would be worth nothing. So the unit is that of usual trees, and larger values
// are cut off: from below, which only raises sums, and from above at a value that outweighs the least of all other
// trees together. Hence at every point
//
//   the sum of scaled values is at least the scaled sum, or it reaches every target.
//
// Scores are integers of 64 bits, and beside a leaf of 1e14 those of usual leaves have a few bits left. Where a model
// adds one sum, a finer scale takes the values of its leaves instead, as exactly as that of any other model.
class Scale {
 public:
  Scale() = default;
  explicit Scale(const Forest& forest);

  // One that takes the values of leaves, if scores are too coarse for usual ones. Not for proofs that are recorded:
  // their checker knows scores.
  static std::optional<Scale> finer(const Forest& forest);

  // What a leaf is worth to a pair; of a finer scale, to a pair of rivals.
  std::int32_t value(const Forest& forest, std::int32_t leaf, Pair pair) const;

  std::int32_t value(std::int64_t difference) const {
    // >> rounds down, so this rounds up.
    const std::int64_t scaled = shift_ <= 0 ? difference * (std::int64_t{1} << -shift_) : -((-difference) >> shift_);
    return static_cast<std::int32_t>(std::clamp(scaled, lowest_, highest_));
  }

  // The least scaled sum with which the pair may still be won: a bound below it closes a box. It has the forest's
  // rounding band in it, or another one; `exact_target` is that for points at which every tree reaches an exact leaf,
  // so that there is no band; it is not smaller.
  std::int64_t target(const Forest& forest, Pair pair) const;
  std::int64_t exact_target(const Forest& forest, Pair pair) const;

  // That in the box of an outline, with a band of its own (see rounding.hpp).
  std::int64_t target_in(const Forest& forest, const Outline& outline, Pair pair) const;

  // The largest score of a leaf, in the mean over all leaves: what one tree matters.
  std::int64_t typical() const { return typical_; }

  int shift() const { return shift_; }  // one unit of a scaled value is 2^shift of scores

  // One vote, or the largest leaf of a usual tree, is about 2^20. Rounding takes up to a unit for each tree: with 14
  // bits that was more than the margins of a thousand small trees.
  static constexpr int kBits = 20;

  // Where values are cut off, if any are. Payments do not exceed 2^29, so that a value less these fits 32 bits.
  static constexpr std::int64_t kLowest = -(std::int64_t{1} << (kBits + 3));
  static constexpr std::int64_t kHighest = std::int64_t{1} << 30;

 private:
  std::int64_t scaled(const Forest& forest, Pair pair, std::optional<std::int64_t> band) const;
  std::int64_t scaled_cut(const Forest& forest, Pair pair, double off) const;
  std::int32_t rounded_up(double value) const;
  bool outweighs_all(const Forest& forest, const std::vector<std::int64_t>& largest) const;

  std::int64_t typical_ = 0;
  std::int64_t lowest_ = std::numeric_limits<std::int32_t>::min(), highest_ = std::numeric_limits<std::int32_t>::max();
  int shift_ = 0;  // negative: multiply by 2^-shift
  std::optional<int> exponent_;  // of a finer scale: multiply values by 2^exponent
};

}  // namespace treeproof
