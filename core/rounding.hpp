// What a model's own float additions can make of a box, where sums of scores are within the rounding band.
//
// Rounding is monotone: from x <= y follows round(x) <= round(y). So is each step of the model's arithmetic, in each of
// its numbers: adding, dividing by a positive divisor, multiplying by a weight that is not negative. Hence, if per tree
// only values between least and most can be reached, the model's own sum of the least ones and its own sum of the most
// ones, added in its own order and type, lie on both sides of its sum at every point, to the last bit. Where trees are
// decided these add no uncertainty at all.
//
// And they bound all sums on the way. A float addition is off by at most u |result|, with u half a unit in the last
// place, so a box in which sums stay small has a band of its own, narrower than that of the largest sums anywhere.
#pragma once

#include <cstdint>
#include <vector>

#include "outline.hpp"

namespace treeproof {

// Per tree and sum, the least and the most that can be added, of the sums that a pair of classes compares.
class Terms {
 public:
  // Begin anew; every tree must then meet a leaf.
  void start(const Forest& forest, Pair pair);
  void meet(std::size_t tree, std::int32_t leaf);

  // Whether the model's own sums show that the pair's winner does not take the label from the loser anywhere, whatever
  // the sums of other classes are. Never where a sigmoid is computed, or sums are not finite.
  bool never_wins(Pair pair) const;

 private:
  const Forest* forest_ = nullptr;
  std::size_t n_sums_ = 0, first_ = 0, second_ = 0;  // the sums that are compared
  std::vector<double> least_, most_;  // n_trees x n_sums
};

// How far the model's own sums of the box of an outline may be from the exact ones, for a pair, in all; infinite where
// that is not known.
double error_in(const Forest& forest, const Outline& outline, Pair pair);

// A band for the box of an outline and a pair: not larger than the forest's, and enough wherever the box reaches leaves
// that are not exact.
std::int64_t band_in(const Forest& forest, const Outline& outline, Pair pair);

}  // namespace treeproof
