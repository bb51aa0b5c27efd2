// The residual forest: what a box leaves undecided of the contest between two classes.
//
// For the pair (winner, loser) a leaf is worth value(leaf) = scaled(score[winner] - score[loser]). Under a box most nodes
// are decided; subtrees whose leaves are all worth the same are one leaf; a tree without an undecided node is a constant
// of the offset. At every point x of the box
//
//   offset + sum over roots of value(leaf that x reaches) >= scaled(sum[winner] - sum[loser] at x)
//
// with equality where scaling is exact. Everything after building it costs a fraction of a pass over the forest.
#pragma once

#include <cstdint>
#include <vector>

#include "box.hpp"
#include "forest.hpp"

namespace treeproof {

struct Pair {
  int winner, loser;
};

// Scales integer scores to the small integers that bounds are computed with. Values are rounded up, so that sums of them
// are upper bounds; `closed(u)` is true only if a sum of differences bounded by the scaled u stays below theta - band.
class Scale {
 public:
  explicit Scale(const Forest& forest);

  std::int32_t value(std::int64_t difference) const {
    if (shift_ <= 0) return static_cast<std::int32_t>(difference << -shift_);
    return static_cast<std::int32_t>(-((-difference) >> shift_));  // >> rounds down, so this rounds up
  }

  // The least scaled sum with which the pair may still be won: a bound below it closes a box.
  std::int64_t target(const Forest& forest, Pair pair) const;

  static constexpr int kBits = 14;  // one vote, or a probability of 1, is about 2^14

 private:
  int shift_;  // negative: multiply by 2^-shift
};

// Indices of values: constants come first, then nodes. Every child's index is either a constant or a later node.
struct Residual {
  std::int64_t offset = 0;
  std::vector<std::int32_t> constants;
  std::vector<std::int32_t> left, right;  // per node: indices of values
  std::vector<std::int32_t> slot;         // per node: the split it makes, shared by nodes that make the same one
  std::vector<std::int32_t> origin;       // per node: its node in the forest
  std::vector<std::int32_t> roots;        // per undecided tree: index of its value

  // Splits, sorted by feature, and for an ordered feature by cut.
  std::vector<std::int32_t> slot_node;                      // per slot: a node of the forest that makes this split
  std::vector<std::int32_t> features, slot_begin;           // per feature that occurs; slot_begin has one entry more

  std::int32_t n_nodes() const { return static_cast<std::int32_t>(left.size()); }
  std::int32_t n_constants() const { return static_cast<std::int32_t>(constants.size()); }
};

// Builds residual forests; keeps its buffers between builds.
class ResidualBuilder {
 public:
  explicit ResidualBuilder(const Forest& forest);

  // `used[f]` is set for every feature f of `restricted` at whose splits the box decided.
  void build(Residual& out, const Box& box, Pair pair, const Scale& scale, const std::vector<std::uint8_t>& restricted,
             std::vector<std::uint8_t>& used);

 private:
  std::int32_t grow(std::int32_t node);
  std::int32_t constant(std::int32_t leaf);
  void number_slots();

  const Forest& forest_;
  std::vector<std::size_t> split_begin_;  // per feature: its first split, in a numbering of all possible splits
  std::vector<Word> marked_;              // the splits that occur
  std::vector<std::int32_t> slot_of_;     // per split that occurs: its slot
  std::vector<std::int32_t> node_of_;     // per split that occurs: a node that makes it
  Box box_;
  Pair pair_{};
  const Scale* scale_ = nullptr;
  const std::vector<std::uint8_t>* restricted_ = nullptr;
  std::vector<std::uint8_t>* used_ = nullptr;
  Residual* out_ = nullptr;
};

}  // namespace treeproof
