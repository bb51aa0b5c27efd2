// Tabu search for a witness on a residual forest: from a point, the best change of one feature at a time, also when it
// does not improve, without going back at once. One pass over the trees' paths values every change of every ordered and
// every gapped feature; what each tree adds to these values is kept, so that a step looks again only at trees that
// split between the cells that it left and took. It finds most counterexamples that exist; when it finds none, that
// proves nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "box.hpp"
#include "branch_and_bound.hpp"
#include "residual.hpp"

namespace treeproof {

class LocalSearch {
 public:
  explicit LocalSearch(const Forest& forest) : forest_(forest) {}

  // Start the generator of random numbers again: what was searched before then changes nothing.
  void forget() { state_ = kSeed; }

  // A point of the box with random cells where the residual forest has splits, and those of `point` elsewhere.
  void scatter(const Residual& residual, const Box& box, std::vector<Cell>& point);

  // Start from a point of the box; its cells are only looked at where the residual forest has splits.
  void start(const Residual& residual, const Box& box, const std::vector<Cell>& point);

  // Search until a point is worth `target`, `patience` steps brought nothing better, or it must stop; returns the value
  // reached. With thousands of features a step takes milliseconds.
  std::int64_t run(std::int64_t target, int patience, const Poll& must_stop);

  // Whether the last search was told to stop.
  bool stopped() const { return stopped_; }

  // Put the current point's cells into `point`.
  void place(std::vector<Cell>& point) const;

 private:
  // What a tree adds to a place of gain_, and where all that a tree adds is listed.
  struct Share {
    std::size_t place;
    std::int64_t change;
  };
  struct Shares {
    std::size_t begin, end;
    std::uint64_t when;  // it was listed
  };

  void set_cell(std::size_t i, Cell cell);
  void go(std::size_t i, Cell cell);
  std::int64_t value_here() const;
  void value_all_changes();
  void value_changes(std::size_t tree);
  void add(Shares& shares, std::size_t place, std::int64_t change);
  void deviate(Shares& shares, std::int32_t at, std::size_t i, std::int32_t low, std::int32_t high, std::int64_t base);
  std::int64_t value_if_missing(std::int32_t at, std::size_t i) const;
  std::uint32_t random() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }

  const Forest& forest_;
  const Residual* residual_ = nullptr;
  const Box* box_ = nullptr;
  static constexpr std::uint32_t kSeed = 2463534242U;
  std::uint32_t state_ = kSeed;  // of the generator
  std::vector<std::uint8_t> slot_left_;  // per slot: the current cell goes left
  std::vector<std::int32_t> feature_of_slot_;  // per slot: index of its feature in the residual forest
  std::vector<Cell> cell_;  // per feature of the residual forest
  std::vector<std::int32_t> position_;  // per ordered feature: the splits before it lie below the cell
  std::vector<std::int32_t> low_, high_;  // per feature: positions that stay on the current path
  std::vector<std::uint8_t> missing_stays_;  // per gapped feature: missing values stay on the current path
  // Per position of every ordered feature: differences of gains; then, per feature, if it is gapped: what missing
  // values add.
  std::vector<std::int64_t> gain_;
  std::size_t missing_begin_ = 0;  // where the latter begin
  std::vector<std::int32_t> trees_begin_, trees_;  // per slot: the trees of its nodes; one begin more
  std::vector<Share> shares_;
  std::vector<Shares> shares_of_;  // per tree
  std::uint64_t now_ = 0;  // how often a feature was changed
  std::vector<std::uint8_t> was_left_;  // per slot of the feature that changes
  std::vector<int> tabu_until_;
  bool stopped_ = false;
};

}  // namespace treeproof
