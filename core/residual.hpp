// The residual forest: what a box leaves undecided of the contest between two classes.
//
// For the pair (winner, loser) a leaf is worth value(leaf) = scaled(score[winner] - score[loser]). Under a box most
// nodes are decided; subtrees whose leaves are all worth the same are one leaf; a tree without an undecided node is a
// constant of the offset. At every point x of the box
//
//   offset + sum over roots of value(leaf that x reaches) + what absorbed trees add
//     >= scaled(sum[winner] - sum[loser] at x)
//
// with equality where scaling is exact, or it reaches every target (see Scale). Everything after building it costs a
// fraction of a pass over the forest.
//
// A tree that is left with splits of one ordered feature alone is a function of its cell. It may be absorbed: such
// functions are added up, one sum for each feature, and no price has to make them agree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "box.hpp"
#include "forest.hpp"
#include "outline.hpp"

namespace treeproof {

// A value is that of a node or of a constant: its index, or the complement of its index.
struct Residual {
  // An undecided split of a tree. Its children that are nodes come before it.
  struct Fork {
    std::int32_t left, right;  // values
    std::int32_t slot;         // the split it makes, shared by nodes that make the same one
    std::int32_t gate, left_end, right_begin;  // as those of its fork in the outline, but among all gates
    std::int32_t origin;  // its node in the forest
  };

  std::int64_t offset = 0;
  std::vector<std::int32_t> constants;
  std::vector<std::uint8_t> inexact;  // per constant: stands for a leaf that needs the rounding band
  bool offset_inexact = false;  // the offset has such a leaf in it
  std::vector<Fork> nodes;
  std::vector<std::int32_t> roots;  // per undecided tree: its root, a node

  // The gates that occur, tree by tree, as in the outline.
  std::vector<std::int32_t> gate_origin;  // per gate: its gate in the forest
  std::vector<std::int32_t> gate_slot;  // per gate: its split
  std::int32_t most_gates = 0;  // of one tree

  // Splits, sorted by feature, and for an ordered or gapped feature by cut.
  std::vector<std::int32_t> slot_node;  // per slot: a node of the forest that makes this split
  std::vector<std::int32_t> slot_cut;  // per slot: its cut
  std::vector<std::int64_t> slot_turn;  // per slot: what absorbed trees add where a cell goes right instead of left
  std::vector<std::int32_t> features, slot_begin;  // per feature that occurs; slot_begin has one entry more

  // Nodes whose feature, an ordered one, no other node splits, nor a tree that was absorbed: no tree has to agree with
  // theirs.
  struct Single {
    std::int32_t node, feature;  // the latter among those that occur
  };
  std::vector<Single> singles;

  // Begin anew, in the same memory.
  void clear() {
    offset = 0;
    offset_inexact = false;
    most_gates = 0;
    constants.clear();
    inexact.clear();
    nodes.clear();
    for (auto* numbers : {&roots, &gate_origin, &gate_slot, &slot_node, &slot_cut, &features, &slot_begin})
      numbers->clear();
    singles.clear();
    slot_turn.clear();
  }

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

  std::int32_t n_gates() const { return static_cast<std::int32_t>(gate_slot.size()); }
  std::int32_t n_nodes() const { return static_cast<std::int32_t>(nodes.size()); }
  std::int32_t n_constants() const { return static_cast<std::int32_t>(constants.size()); }
};

// Builds residual forests; keeps its buffers between builds.
class ResidualBuilder {
 public:
  explicit ResidualBuilder(const Forest& forest, std::size_t poll_interval = Patience::kInterval);

  // False if it must stop, and then the residual is of no use. Trees of one feature stay trees, unless it `absorbs`.
  // Leaves are worth what a scale says, that of the forest or its finer one.
  bool build(Residual& out, const Outline& outline, Pair pair, const std::function<bool()>* must_stop = nullptr,
             bool absorbs = false, bool finest = false);

  // What a box leaves undecided of a residual forest for a box around it. Marks in `used` the features of `restricted`
  // that decided a split now. It absorbs.
  void narrow(Residual& out, const Residual& around, const Box& box, const std::vector<std::uint8_t>& restricted,
              std::vector<std::uint8_t>& used);

 private:
  // What the trees are to one pair.
  struct Contest {
    std::vector<std::int32_t> trees;  // those that matter: their leaves differ
    std::int64_t offset = 0;  // of all others
    bool offset_inexact = false;
    // Per tree that matters: the leaf that it had when it was last decided, and what that is worth. Most trees are
    // decided alike from box to box, and leaves lie far apart in memory.
    struct Decided {
      std::int32_t leaf = -1, value = 0;
      bool inexact = false;
    };
    std::vector<Decided> decided;
  };

  // What an absorbed tree is worth more behind a split than before it.
  struct Turn {
    std::int32_t slot;  // as nodes have it: while it builds, the split in the numbering of all
    std::int64_t change;
  };

  Contest& contest(Pair pair);
  std::int32_t grow(const Outline::Tree& tree);
  bool may_absorb(std::int32_t first, const std::vector<std::int32_t>& feature_of) const;
  void settle(std::int32_t root, std::int32_t first, std::int32_t first_constant);
  std::int32_t worth(std::int32_t leaf) const;
  std::int32_t constant(std::int32_t leaf);
  void keep_gate(const Outline::Gate& gate);
  void keep_gates(const std::vector<Outline::Gate>& gates, std::int32_t first, std::int32_t begin);
  void number_slots();
  bool stop();
  void find_singles();
  void narrow_gates(const Residual& around);

  const Forest& forest_;
  const std::size_t poll_interval_;
  std::map<std::tuple<int, int, bool>, Contest> contests_;  // as they are met: winner, loser, in the finest scale
  std::vector<Word> marked_;  // the splits that occur
  std::vector<std::int32_t> grown_;  // per fork of the tree at hand: its value
  std::vector<std::int32_t> place_;  // per gate of its outline and behind the last: the gates that occur before it
  std::vector<std::int32_t> only_;  // per slot: its only node
  std::vector<std::int32_t> slot_of_;  // per split that occurs: its slot
  std::vector<std::int32_t> node_of_;  // per split that occurs: a node that makes it
  std::vector<std::int32_t> feature_of_split_, feature_of_slot_;  // per split; per slot of the forest around
  std::vector<Turn> turns_;  // of the absorbed trees
  std::vector<std::int32_t> open_;  // nodes on the way to the leaf at hand
  std::vector<Side> side_;  // per slot of the forest around: where the box goes
  std::vector<std::uint8_t> reached_;  // per node of the forest around
  Pair pair_{};
  const Scale* scale_ = nullptr;
  Residual* out_ = nullptr;
};

}  // namespace treeproof
