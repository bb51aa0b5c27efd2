// The forest over cells, as the search sees it: flat arrays, integer scores, and the model's own arithmetic for
// near-ties. Mirrors treeproof.query.cells.CellForest, whose docstrings define the meaning of every field.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scale.hpp"

namespace treeproof {

using Cell = std::int32_t;
using Word = std::uint64_t;

// `exact`: scores alone decide. Class 0 wins iff it leads every other class by what `theta` says; whoever keeps it from
// that has the label. So a point of class 0 satisfies several conditions on sums of integers at once.
enum class Vote { majority, mean, sum, exact };

// One node, packed: a walk touches one cache line for each. At leaves, all of it is -1. `cut` is the last cell that
// goes left; of a gapped feature 2 * cells of numbers that go left + [missing values do]; of a feature of values the
// index of a left set.
struct Node {
  std::int32_t feature, cut, left, right;
};

// Numbers that are never copied: those of a model are large, and Python holds them too.
template <typename T>
class Shared {
 public:
  Shared() = default;
  Shared(std::shared_ptr<const void> owner, std::span<const T> items) : owner_(std::move(owner)), items_(items) {}
  Shared(std::vector<T> given) {
    const auto owned = std::make_shared<const std::vector<T>>(std::move(given));
    owner_ = owned;
    items_ = *owned;
  }

  const T& operator[](std::size_t i) const { return items_[i]; }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const T> items_;
};

// The cell of a feature lies in an interval that starts or ends where the numbers do (empty if low > high), or is that
// of missing values and `missing` is set; for a feature of values: in a set, whose words start at `words` in
// Forest::literal_sets.
struct Literal {
  std::int32_t feature;
  Cell low, high;
  bool missing;
  std::size_t words;
};

using Clause = std::vector<Literal>;

// Trees that are added on their own, from `first` up to `last`; see treeproof.model.decision.Member.
struct Member {
  int first, last;
  std::vector<double> start;
  double divisor, weight;
  bool single;
};

// How sums of leaf values become a label; see treeproof.model.decision.Sums.
struct Sums {
  std::vector<double> start;  // as many as there are sums
  std::vector<double> cuts;   // only if `cut`
  double divisor = 1;
  bool single = false;        // added in float, else in double
  bool softmax = false;
  bool cut = false;
  double sigmoid = 0;         // if not 0: the largest 1 / (1 + exp(-sigmoid * sum)) wins; in double
  std::vector<Member> members = {};  // in the order of their trees, parts of a member before it
  std::vector<std::size_t> opening = {};  // derived: the members in the order in which they begin, the outer ones first

  // A float addition or division is off by at most this, relatively.
  double unit() const { return single ? 0x1p-24 : 0x1p-53; }

  // After a softmax, sums that differ by little may have equal probabilities. But who has the label has a probability
  // not below that of the largest sum, whose exponential is 1; and a sum that is 8 units below the largest has an
  // exponential below 1 - 4 units, if that is off by a unit, which no common divisor makes equal to 1. So who is behind
  // anyone by this much, a hundred times that, does not have the label.
  double softmax_gap() const { return 1024 * unit(); }
};

// The first maximum of the softmax of sums, computed as XGBoost (in float) and LightGBM (in double) do.
int softmax_label(const std::vector<float>& sums);
int softmax_label(const std::vector<double>& sums);

// The first maximum of the sigmoids of sums, computed as LightGBM does for one class against the others.
int sigmoid_label(std::vector<double> sums, double steepness);

struct Forest {
  int n_features = 0;
  int n_classes = 0;
  std::vector<Cell> n_cells;  // per feature
  std::vector<std::uint8_t> ordered;  // per feature: splits are cuts of an order
  std::vector<std::uint8_t> gapped;  // per feature: so they are but for the last cell, that of missing values
  std::vector<std::int32_t> roots;
  std::vector<Node> nodes;
  Shared<std::int64_t> scores;  // n_nodes x n_classes
  std::vector<std::int64_t> theta;  // per winner and loser; empty: ties go to the class that comes first
  Shared<double> values;  // n_nodes x n_sums; empty under majority vote, where scores decide
  std::vector<std::uint8_t> exact;  // per node: a leaf that needs no band if all others are such; only with a band
  std::int64_t band = 0;
  std::optional<int> exponent;  // scores are values times 2^this, rounded down; none: nobody said so
  std::int64_t unit = 0;  // if not 0: exact leaves give this score to one class and 0 to the others, like a vote
  Vote vote = Vote::majority;
  Sums sums;  // unless it is a majority vote
  std::vector<Clause> clauses;  // rules between features that every point of the space keeps
  std::vector<Word> literal_sets;

  // Derived from the fields above.
  Scale scale;
  std::optional<Scale> finer;  // for bounds that are not recorded, if there is one
  int depth = 1;  // nodes on the longest path
  std::vector<std::int32_t> value_id;  // per node, if there is a band: equal for leaves with the same values
  std::vector<std::uint8_t> leaf_class;  // per node, under majority vote of up to 64 classes: the class it votes for
  std::vector<std::uint8_t> varies;  // per tree and class: its leaves differ in their scores for it, in exactness, or
                                     // in values that count
  std::vector<std::int32_t> own_class;  // per tree: the only class to which its leaves give anything, or -1
  std::vector<std::size_t> words_begin;  // per feature: first word of its set in a box; n_features + 1 entries
  std::vector<Word> left_sets;  // the sets of cells that go left, one after the other
  std::vector<std::size_t> set_begin;  // per left set: its first word
  std::vector<std::size_t> split_begin;  // per feature: its first split, in a numbering of all possible splits
  // A gate is a split of one tree, however many of its nodes make it. Gates are sorted by tree, then by split.
  std::vector<std::int32_t> gate;  // per node; -1 at leaves, and where no cell goes left
  std::vector<std::int32_t> gate_node;  // per gate: a node that makes the split
  std::vector<std::int32_t> gate_begin;  // per tree: its first gate; one entry more

  void derive();  // call once, when the other fields are set

  bool goes_left(std::int32_t node, Cell cell) const {
    const std::int32_t c = nodes[node].cut;
    const std::int32_t f = nodes[node].feature;
    if (ordered[f]) return cell <= c;
    if (gapped[f]) return cell < missing_cell(f) ? cell < numbers_left(c) : missing_left(c);
    return (left_sets[set_begin[c] + cell / 64] >> (cell % 64)) & 1U;
  }

  // Of gapped features and their cuts.
  Cell missing_cell(int f) const { return n_cells[f] - 1; }
  static Cell numbers_left(std::int32_t cut) { return cut >> 1; }
  static bool missing_left(std::int32_t cut) { return cut & 1; }

  // The split that a node makes, in the numbering of all.
  std::size_t split(std::int32_t node) const {
    return split_begin[nodes[node].feature] + static_cast<std::size_t>(nodes[node].cut);
  }

  // The scale of bounds that are not recorded.
  const Scale& finest() const { return finer ? *finer : scale; }

  bool is_exact(std::int32_t leaf) const { return band == 0 || exact[leaf]; }

  const std::int64_t* scores_of(std::int32_t node) const { return &scores[static_cast<std::size_t>(node) * n_classes]; }

  std::int32_t leaf(std::int32_t node, const std::vector<Cell>& point) const {
    while (nodes[node].feature >= 0) {
      const bool goes = goes_left(node, point[nodes[node].feature]);
      node = goes ? nodes[node].left : nodes[node].right;
    }
    return node;
  }

  // The leaf of each tree that a point reaches.
  std::vector<std::int32_t> leaves(const std::vector<Cell>& point) const;

  // Sums of scores at a point, per class.
  std::vector<std::int64_t> total_scores(const std::vector<Cell>& point) const {
    return total_scores_of(leaves(point));
  }
  std::vector<std::int64_t> total_scores_of(const std::vector<std::int32_t>& leaves) const;

  // The class that the model's own predict gives at a point: integer votes, or float sums in tree order.
  int label(const std::vector<Cell>& point) const { return label_of_leaves(leaves(point)); }
  int label_of_leaves(const std::vector<std::int32_t>& leaves) const;

  // These float sums, unless it is a majority vote: at a point, and of any terms, given as n_trees x n_sums.
  std::vector<double> float_sums(const std::vector<Cell>& point) const;
  std::vector<double> float_sums_of(const std::vector<double>& terms) const;

  // The label that float sums give.
  int label_of_sums(const std::vector<double>& totals) const;

  // Whether one class may take a label from another without a third that does so as well. Where a score is cut, a label
  // is left by way of its neighbours: it is lost iff the score is below its own cut or reaches the next one.
  bool are_rivals(int one, int other) const { return !sums.cut || one - other == 1 || other - one == 1; }

  // Whether the leaves of a tree differ for a pair.
  bool contested(std::size_t tree, Pair pair) const {
    const std::uint8_t* const of_tree = &varies[tree * static_cast<std::size_t>(n_classes)];
    return of_tree[pair.winner] || of_tree[pair.loser];
  }

  // The least difference of scores with which `winner` beats `loser`.
  std::int64_t least(int winner, int loser) const {
    return theta[static_cast<std::size_t>(winner) * static_cast<std::size_t>(n_classes) +
                 static_cast<std::size_t>(loser)];
  }
};

}  // namespace treeproof
