// The residual forest: what a box leaves undecided of the contest between two classes.
//
// For the pair (winner, loser) a leaf is worth value(leaf) = scaled(score[winner] - score[loser]). Under a box most
// nodes are decided; subtrees whose leaves are all worth the same are one leaf; a tree without an undecided node is a
// constant of the offset. At every point x of the box
//
//   offset + sum over roots of value(leaf that x reaches) >= scaled(sum[winner] - sum[loser] at x)
//
// with equality where scaling is exact, or it reaches every target (see Scale). Everything after building it costs a
// fraction of a pass over the forest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "box.hpp"
#include "forest.hpp"

namespace treeproof {

// Indices of values: constants come first, then nodes. Every child's index is either a constant or a later node.
struct Residual {
  std::int64_t offset = 0;
  std::vector<std::int32_t> constants;
  std::vector<std::uint8_t> inexact;      // per constant: stands for a leaf that needs the rounding band
  bool offset_inexact = false;            // the offset has such a leaf in it
  std::vector<std::int32_t> left, right;  // per node: indices of values
  std::vector<std::int32_t> slot;         // per node: the split it makes, shared by nodes that make the same one
  std::vector<std::int32_t> origin;       // per node: its node in the forest
  std::vector<std::int32_t> roots;        // per undecided tree: index of its value

  // The gates that occur (see Forest), counted from 1; 0 is none. Those of one tree that split one ordered feature form
  // a chain: who goes left at one goes left at all behind it, who goes right at one does so at all before it.
  std::vector<std::int32_t> gate;  // per node: its own
  std::vector<std::int32_t> above, below;  // per node: the gates next to its own where its path went left and right
  std::vector<std::int32_t> gate_origin;  // per gate: its gate in the forest
  std::vector<std::int32_t> gate_slot;  // per gate: its split
  std::vector<std::int32_t> chained;  // per gate: all bits set if it continues the chain of the gate before it

  // Splits, sorted by feature, and for an ordered or gapped feature by cut.
  std::vector<std::int32_t> slot_node;  // per slot: a node of the forest that makes this split
  std::vector<std::int32_t> slot_cut;  // per slot: its cut
  std::vector<std::int32_t> features, slot_begin;  // per feature that occurs; slot_begin has one entry more

  // The numbers of a gapped feature, the i-th that occurs, that go right at its slots before `position` and left at the
  // others; none if first > last.
  struct Stretch {
    Cell first, last;
    bool empty() const { return first > last; }
  };
  Stretch stretch(const Box& box, std::size_t i, std::int32_t position) const {
    const std::int32_t f = features[i];
    Stretch cells{box.low[f], box.high[f]};
    if (position > slot_begin[i]) cells.first = std::max(cells.first, Forest::numbers_left(slot_cut[position - 1]));
    if (position < slot_begin[i + 1]) cells.last = std::min(cells.last, Forest::numbers_left(slot_cut[position]) - 1);
    return cells;
  }

  std::int32_t n_gates() const { return static_cast<std::int32_t>(gate_slot.size()); }  // with the one that is none
  std::int32_t n_nodes() const { return static_cast<std::int32_t>(left.size()); }
  std::int32_t n_constants() const { return static_cast<std::int32_t>(constants.size()); }
};

// Builds residual forests; keeps its buffers between builds.
class ResidualBuilder {
 public:
  explicit ResidualBuilder(const Forest& forest);

  // `used[f]` is set for every feature f of `restricted` at whose splits the box decided, and for every such feature of
  // values that has splits left.
  void build(Residual& out, const Box& box, Pair pair, const Scale& scale, const std::vector<std::uint8_t>& restricted,
             std::vector<std::uint8_t>& used);

 private:
  // A node of the forest whose children are being grown, and what the box was there.
  struct Open {
    std::int32_t node, at, left;
    std::int32_t above, below;
    Cell low, high;
    std::uint8_t missing;
    bool has_left;
    std::size_t saved;  // where its set of values starts in `saved_`
  };

  std::int32_t grow(std::int32_t node);
  void enter(std::int32_t node);
  void restore(const Open& open);
  std::int32_t join(const Open& open, std::int32_t right);
  std::int32_t constant(std::int32_t leaf);
  void number_gates(std::int32_t first);
  void number_slots();

  const Forest& forest_;
  std::vector<Word> marked_;  // the splits that occur
  std::vector<std::pair<std::int32_t, std::int32_t>> by_gate_;  // gates of the forest in the tree at hand, and nodes
  std::vector<int> gapped_;  // the gapped features
  std::vector<std::uint8_t> chains_;  // per feature: its gates form chains, for missing values are not in the box
  std::vector<std::int32_t> above_, below_;  // per feature: the nodes at which the path last went left and right, or -1
  std::vector<std::int32_t> slot_of_;  // per split that occurs: its slot
  std::vector<std::int32_t> node_of_;  // per split that occurs: a node that makes it
  Box box_;
  std::vector<Open> path_;  // from the root to the node at hand
  std::vector<Word> saved_;  // sets of values of the nodes on it
  Pair pair_{};
  const Scale* scale_ = nullptr;
  const std::vector<std::uint8_t>* restricted_ = nullptr;
  std::vector<std::uint8_t>* used_ = nullptr;
  Residual* out_ = nullptr;
};

}  // namespace treeproof
