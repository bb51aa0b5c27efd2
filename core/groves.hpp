// Groves: trees of a residual forest that share features, joined to one tree each.
//
// A bound on single trees lets each of them choose its path, and prices make them agree. Within a grove they agree by
// themselves: a leaf of the joined tree is a leaf of each member, all of which one point can reach, and is worth their
// sum. So the bound is tighter and its prices are fewer; but there are more leaves. Members are chosen so that these
// stay few, which trees with the same features do.
#pragma once

#include <cstdint>
#include <vector>

#include "residual.hpp"

namespace treeproof {

class Groves {
 public:
  explicit Groves(const Forest& forest) : forest_(forest), of_tree_(forest.roots.size(), kAlone) {}

  // Choose the groves, for this residual forest and those of boxes within its own; those that there are already stay,
  // as long as they do not become too large.
  void form(const Residual& residual);

  void forget();

  // Join the trees of each grove; the others stay as they are.
  void join(const Residual& residual, Residual& out);

 private:
  static constexpr std::int32_t kAlone = -1;

  // A tree of the residual forest: its nodes, the last of which is its root, and the features that they split, as bits
  // of their numbers modulo 64.
  struct Tree {
    std::int32_t first, root;
    std::int32_t first_gate, last_gate;
    Word features;
    bool ordered;  // all of them are
    std::size_t leaves() const { return static_cast<std::size_t>(root - first) + 2; }
  };

  // Slots of one feature: who is there goes right at those before `below` and left from `above` on.
  struct Range {
    std::int32_t below, above;
  };

  struct Grove {
    std::vector<std::int32_t> members;  // trees of the forest
    Word features;  // as those of a tree
    std::size_t leaves;
    std::vector<std::int32_t> places;  // of the features that its leaves restrict
    std::vector<Range> ranges;  // of each of these, leaf by leaf
  };

  void enter(const Residual& residual);
  void insert(std::int32_t tree);
  void start(Grove& grove);
  void add(Grove& grove, const Tree& tree);
  std::size_t count(const Grove& grove, const Tree& tree, std::size_t most);
  std::size_t count_from(std::int32_t at, std::size_t most);
  void list_leaves(std::int32_t at, Grove& grove);
  void enter_leaf(const Grove& grove, std::size_t leaf);
  void leave(const Grove& grove);
  void grow(const std::vector<std::int32_t>& members, Residual& out);
  std::int32_t grow_from(std::size_t member, std::int32_t at, std::int64_t sum, bool inexact, Residual& out);
  void number_gates(const std::vector<std::int32_t>& members, std::int32_t first, Residual& out);
  void copy(const Tree& tree, Residual& out);

  const Forest& forest_;
  std::vector<std::int32_t> of_tree_;  // per tree of the forest: its grove, or kAlone
  std::vector<Grove> groves_;
  std::vector<std::int32_t> place_of_;  // per tree of the forest: its place in the residual forest, or kAlone

  // The residual forest at hand.
  const Residual* residual_ = nullptr;
  std::vector<Tree> trees_;
  std::vector<std::int32_t> feature_of_;  // per slot: the place of its feature
  std::vector<std::int32_t> above_, below_;  // per such place: the slots that are open here, as those of a Range
  std::vector<std::int32_t> walked_;  // the members at hand
  std::vector<Word> marked_;  // slots that occur
  std::vector<std::int32_t> place_;  // per such slot: its gate
  std::vector<std::int32_t> gate_of_;  // per gate of the residual forest: its gate in the joined one, or -1
  struct Chain {
    std::int32_t begin, end;
  };
  std::vector<Chain> chain_;  // per gate of the tree at hand
  std::vector<std::vector<std::int32_t>> members_;  // per grove
};

}  // namespace treeproof
