// The outline of a forest within a box: of each tree the splits at which the box goes both ways, whatever two classes
// contend.
//
// Queries about one instance differ in few features, and so do the boxes of one search. The outline of a query is kept
// from one to the next: a tree is walked again only if its walk met a feature whose cells are others now. It is kept
// for two boxes, that of the last query and one from before, its base: a feature that could not be freed is put back,
// and the trees that met it are then at hand as they were. Within a search, the outline of a box is made from that of
// the box around it, and shares the trees that are the same in both.
//
// What a walk met are the features that decided a split and those of its forks. Others it may have passed, where under
// majority vote all leaves behind a split vote the same; they do not matter as long as those that decided stay.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "box.hpp"
#include "forest.hpp"

namespace treeproof {

struct Outline {
  // A split at which the box goes both ways. Where it leads is the index of a fork of the same tree that comes before
  // it, or the complement of a leaf of the forest.
  struct Fork {
    std::int32_t left, right;
    std::int32_t node;  // of the forest
    // Places among the tree's gates: its own; who goes left here, and did not at a fork above, goes left from `gate`
    // until `left_end`; who goes right, from `right_begin` up to `gate`.
    std::int32_t gate, left_end, right_begin;
  };

  // A split of the tree (see Forest) that its forks make. Those of one ordered feature form a chain: who goes left at
  // one goes left at all behind it, who goes right at one does so at all before it.
  struct Gate {
    std::int32_t origin;  // its gate in the forest
    std::int32_t node;  // one that makes the split
    std::int32_t split;  // in the numbering of all
  };

  struct Growth {
    std::vector<Fork> forks;
    std::vector<Gate> gates;  // in their order
  };

  struct Tree {
    const Growth* growth;
    std::int32_t root;  // as where a fork leads
    const Word* features;  // those of its forks, and perhaps others
  };

  Box box;
  std::vector<Tree> trees;
  std::vector<Growth>
      own;  // per tree, unless it has the growth that it has in the outline around this one; or per state
  // Only of a whole query, for which every tree has two states, 2 t and 2 t + 1.
  Box base;  // an earlier box, or this one
  std::vector<std::size_t> state, base_state;  // per tree: the state for this box, for the base
  std::vector<std::int32_t> roots;  // per state
  std::vector<Word> decided, open;  // per state: features that decided on the walk, features of its forks
  std::vector<Word> votes;  // per state, under majority vote of up to 64 classes: those of its leaves
  std::uint64_t now = 0;  // how often it has followed a box
  std::vector<std::uint64_t> changed;  // per tree: what `now` was when it got its present state
};

// Find the leaf of each tree that a point of the outline's box reaches; under majority vote, one with the same vote.
void find_leaves(const Forest& forest, const Outline& outline, const std::vector<Cell>& point,
                 std::vector<std::int32_t>& leaves);

// Asks whether a long job must stop, once in very many nodes: whoever counts how often it is asked, as a measure of
// effort, counts the same for all but the largest forests.
class Patience {
 public:
  static constexpr std::size_t kInterval = 1U << 16;  // nodes: a few milliseconds
  explicit Patience(const std::function<bool()>* must_stop, std::size_t interval = kInterval)
      : must_stop_(must_stop), interval_(interval) {}

  // Whether to stop, before so many nodes more.
  bool ends(std::size_t n_nodes) {
    unasked_ += n_nodes;
    if (must_stop_ == nullptr || unasked_ < interval_) return false;
    unasked_ = 0;
    return (*must_stop_)();
  }

 private:
  const std::function<bool()>* const must_stop_;
  const std::size_t interval_;
  std::size_t unasked_ = 0;
};

// Makes outlines; keeps its buffers.
class Outliner {
 public:
  explicit Outliner(const Forest& forest, std::size_t poll_interval = Patience::kInterval);

  // That of a query's box, made from what it was before. False if it must stop; then the outline has no trees, and the
  // next one is made from nothing.
  bool follow(Outline& outline, const Box& box, const std::function<bool()>* must_stop = nullptr);

  // Mark in `used` the features of `restricted` that decided a split of it.
  void mark(const Outline& outline, const std::vector<std::uint8_t>& restricted, std::vector<std::uint8_t>& used) const;

  // That of a box within another; likewise with the features that decided a split now. False if it must stop; then the
  // outline is of no use.
  bool follow(Outline& outline, const Box& box, const Outline& around, const std::vector<std::uint8_t>& restricted,
              std::vector<std::uint8_t>& used, const std::function<bool()>* must_stop = nullptr);

 private:
  // A split whose sides are being walked, and what the box was there.
  struct Open {
    std::int32_t at, node, left;
    std::int32_t above, below;
    Cell low, high;
    std::uint8_t missing;
    bool has_left;
    std::size_t saved;  // where its set of values starts in `saved_`
  };

  template <typename Source, typename Decide>
  std::int32_t walk(const Source& source, std::int32_t at, Outline::Growth& out, const Decide& decides);
  void enter(Open& open, std::int32_t at, std::int32_t node);
  void turn_right(const Open& open);
  void restore(const Open& open);
  std::int32_t join(const Open& open, std::int32_t right, std::vector<Outline::Fork>& out) const;
  void number_gates(Outline::Growth& growth);
  bool chains(int f) const { return forest_.ordered[f] || (forest_.gapped[f] && !whole_->missing[f]); }
  int find_changes(const Box& from, const Box& to, std::vector<Word>& changes) const;
  bool meets(const Word* features, const std::vector<Word>& changes) const;
  void walk_state(Outline& outline, std::size_t t, std::size_t state);

  const Forest& forest_;
  const std::size_t poll_interval_;
  const std::size_t n_words_;  // of a set of features
  std::vector<Word> changes_, last_changes_;  // features whose cells differ from the base or the box around; the last
  const Box* whole_ = nullptr;  // the box at hand
  Box box_;  // where the path at hand leads in it
  std::vector<std::int32_t> above_, below_;  // per feature: the gates where the path last went left, right, or -1
  std::vector<Open> path_;  // room for the splits from the root to the node at hand
  std::vector<Word> saved_;  // sets of values of the nodes on it
  std::vector<Word> gates_;  // the forest's gates that occur in the tree at hand
  std::vector<std::int32_t> place_;  // per such gate: its place
  std::vector<std::int32_t> chain_begin_, chain_end_;  // per place: its chain
};

}  // namespace treeproof
