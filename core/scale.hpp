// Scores as the small integers that bounds are computed with, always rounded outward.
#pragma once

#include <cstdint>

namespace treeproof {

struct Forest;

struct Pair {
  int winner, loser;
};

// Scales integer scores to the small integers that bounds are computed with. Values are rounded up, so that sums of
// them are upper bounds.
class Scale {
 public:
  Scale() = default;
  explicit Scale(const Forest& forest);

  std::int32_t value(std::int64_t difference) const {
    if (shift_ <= 0) return static_cast<std::int32_t>(difference << -shift_);
    return static_cast<std::int32_t>(-((-difference) >> shift_));  // >> rounds down, so this rounds up
  }

  // The least scaled sum with which the pair may still be won: a bound below it closes a box. `exact_target` is that
  // for points at which every tree reaches an exact leaf, so that there is no rounding band; it is not smaller.
  std::int64_t target(const Forest& forest, Pair pair) const { return scaled(forest, pair, true); }
  std::int64_t exact_target(const Forest& forest, Pair pair) const { return scaled(forest, pair, false); }

  // The largest score of a leaf, in the mean over all leaves: what one tree matters.
  std::int64_t typical() const { return typical_; }

  int shift() const { return shift_; }  // one unit of a scaled value is 2^shift of scores

  // One vote, or the largest leaf, is about 2^20. Rounding takes up to a unit for each tree: with 14 bits that was more
  // than the margins of a thousand small trees.
  static constexpr int kBits = 20;

 private:
  std::int64_t scaled(const Forest& forest, Pair pair, bool with_band) const;

  std::int64_t typical_ = 0;
  int shift_ = 0;  // negative: multiply by 2^-shift
};

}  // namespace treeproof
