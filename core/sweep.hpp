// The label at a point that moves by one feature at a time: only trees whose paths ask about that feature are walked
// again. And along one feature: the cell nearest to a given one at which the claim fails, by one pass over these trees.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "along.hpp"
#include "branch_and_bound.hpp"
#include "forest.hpp"

namespace treeproof {

class Sweep {
 public:
  Sweep(const Forest& forest, Claim claim) : forest_(forest), claim_(claim) {}

  void start(std::vector<Cell> point);
  void move(int f, Cell cell);
  void move_back();  // take the last move back; once

  const std::vector<Cell>& point() const { return point_; }
  int label() const { return label_of(leaves_, votes_); }

  // Whether the point is a witness against the claim, one that keeps all clauses.
  bool violates() const;

  // Of the cells of an ordered feature, or of the numbers of a gapped one, between two that are included: the nearest
  // to `from` with which the point is a witness. The point stays where it is.
  std::optional<Cell> nearest_violation(int f, Cell from, Cell to);

 private:
  struct Walk {
    std::int32_t leaf;
    Word asked;  // a bit for each feature of the path; features that are 64 apart share one
  };
  struct Turn {  // from a cell on, a tree reaches another leaf
    Cell from;
    std::int32_t tree, leaf;
  };

  static Word bit(int f) { return Word{1} << (f % 64); }
  Walk walk(std::int32_t node) const;
  void set(std::size_t t, Walk walk);
  int label_of(const std::vector<std::int32_t>& leaves, const std::vector<std::int64_t>& votes) const;
  bool fails(const std::vector<std::int32_t>& leaves, const std::vector<std::int64_t>& votes) const {
    return claim_.violated_by(label_of(leaves, votes));
  }

  const Forest& forest_;
  const Claim claim_;
  std::vector<Cell> point_;
  std::vector<std::int32_t> leaves_;  // per tree
  std::vector<Word> asked_;  // per tree: see Walk
  std::vector<std::int64_t> votes_;  // per class, under majority vote
  int moved_ = 0;  // the feature that moved last,
  Cell moved_from_ = 0;  // its cell before,
  std::vector<std::pair<std::size_t, Walk>> before_;  // and the trees that it changed
  std::vector<Turn> turns_;
  std::vector<Stretch> open_;
  std::vector<std::int32_t> turned_leaves_;
  std::vector<std::int64_t> turned_votes_;
};

}  // namespace treeproof
