// The leaves that one point reaches, kept while it moves: a witness of the last query, moved into the box of the next
// one, is the cheapest witness there is, if it still is one.
//
// A tree is walked again only if its path met a feature that changed. And what changing one feature would add to the
// lead of a class over another is found for all its cells at once, from the trees whose paths meet it.
#pragma once

#include <cstdint>
#include <vector>

#include "along.hpp"
#include "box.hpp"
#include "forest.hpp"

namespace treeproof {

class Trail {
 public:
  explicit Trail(const Forest& forest) : forest_(forest) {}

  // Go to a point, and look at a pair of classes there.
  void go(const std::vector<Cell>& point, Pair pair);

  // The point; the leaves that it reaches; by how much the pair's winner leads there.
  const std::vector<Cell>& point() const { return point_; }
  const std::vector<std::int32_t>& leaves() const { return leaves_; }
  std::int64_t lead() const { return lead_; }

  // By how much the winner would lead with the best cell that a box has for a feature, all else as it is. A feature of
  // values is not looked at: then it is the cell at hand.
  std::int64_t best_lead(const Box& box, int f, Cell& best);

  void forget() { point_.clear(); }

 private:
  static Word bit(std::int32_t f) { return Word{1} << (f % 64); }
  void walk(std::size_t tree);
  std::int64_t difference(std::int32_t leaf) const;

  const Forest& forest_;
  std::vector<Cell> point_;  // empty: none yet
  Pair pair_{};
  std::vector<std::int32_t> leaves_;  // per tree
  std::vector<Word> met_;  // per tree: the features that its path met, modulo 64
  std::vector<std::int64_t> worth_;  // per tree: what its leaf adds to the lead
  std::int64_t lead_ = 0;
  std::vector<std::int64_t> gain_;  // per cell of a feature that is looked at: what it adds more than the cell before
  std::vector<Stretch> open_, reached_;
};

}  // namespace treeproof
