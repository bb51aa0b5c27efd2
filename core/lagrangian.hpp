// The Lagrangian bound on a residual forest, in exact integer arithmetic.
//
// Every gate g, a split of one tree, has two prices alpha_g, beta_g >= 0. A leaf of the tree pays alpha_g if everything
// that reaches it goes left at g, whether its path meets g or not, and beta_g if all of it goes right. The cell x of a
// feature earns alpha_g at every gate of that feature where x goes left, beta_g where it goes right. For any prices
//
//   bound = offset + sum over trees of max over leaves (value - payments)
//                  + sum over features of max over cells of earnings(cell)
//
// is at least the value at every point of the box: what a leaf pays, the cells of every point that reaches it earn, and
// other gates only earn, which is why prices must not be negative. At best it is the bound of the linear relaxation.
// Prices are lowered and raised by a projected subgradient with Polyak steps; any prices give a proof.
//
// Along a chain of gates (see Residual) a leaf whose path last went left at g pays the alphas from g to the end of the
// chain, and one whose path last went right there the betas up to g. So going left at a node costs the difference of
// two sums, those from its own gate and from the gate above it, and a pass takes time linear in nodes and gates. Gates
// of other features are paid for at their own nodes only, which is less than is due, and so a bound as well.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "box.hpp"
#include "record.hpp"
#include "residual.hpp"

namespace treeproof {

// Prices of the forest's gates for one pair, kept from one bound to the next. What was stored before the last `forget`
// counts as 0, so that a new instance starts afresh without clearing memory.
class Prices {
 public:
  explicit Prices(std::size_t n_gates) : entries_(n_gates, Entry{0, 0, 0}) {}

  void forget() { ++now_; }
  std::int32_t alpha(std::int32_t gate) const { return entries_[gate].when == now_ ? entries_[gate].alpha : 0; }
  std::int32_t beta(std::int32_t gate) const { return entries_[gate].when == now_ ? entries_[gate].beta : 0; }
  void set(std::int32_t gate, std::int32_t alpha, std::int32_t beta) { entries_[gate] = {alpha, beta, now_}; }

 private:
  struct Entry {
    std::int32_t alpha, beta;
    std::uint32_t when;
  };
  std::vector<Entry> entries_;
  std::uint32_t now_ = 1;
};

// If no side of a feature costs a tree more than this, the payments on a path of so many nodes do not exceed 2^29, so
// that values fit 32 bits.
inline std::int32_t largest_payment(int depth) { return std::min(1 << 24, (1 << 29) / depth); }

class Lagrangian {
 public:
  Lagrangian(const Forest& forest, std::int32_t largest_payment) : forest_(forest), largest_payment_(largest_payment) {}

  // Start on a residual forest over `box`, with the prices kept for its gates' origins.
  void start(const Residual& residual, const Box& box, const Prices& prices);

  // Recompute the bound, every tree's best path and every feature's best cell, for the current prices; these are
  // lowered first where a payment would be too large.
  std::int64_t evaluate();

  // Whether the bound just evaluated closes the box: it is below `target`; or it is below `exact_target`, and below
  // `target` for every leaf that needs the rounding band, should a tree take it.
  bool closes(std::int64_t target, std::int64_t exact_target);

  // Value of the point made of the features' best cells; `place` puts these cells into a point.
  std::int64_t value_of_best_cells();
  void place_best_cells(std::vector<Cell>& point) const;

  // Move the prices towards a bound of `target`; `scale` shrinks the step. False if no price can move.
  bool step(std::int64_t target, double scale);

  void keep_prices();  // remember the current prices as the best
  void restore_prices();  // go back to them

  // Reduced-cost fixing with the current evaluation: shrink `box` where the bound without a cell or a branch at a root
  // falls below `target`. Returns whether anything was cut off; `empty` is set if nothing is left.
  // Every part that is cut off goes to `recorder`, if there is one, as closed by the current prices for `pair`.
  bool fix(Box& box, std::int64_t target, bool& empty, Recorder* recorder, Pair pair) const;

  // The prices that are not 0: a node of the forest that stands for the gate, alpha, beta.
  std::vector<std::int32_t> nonzero_prices() const;

  // Where to split the box: the feature on which the trees' best paths and the features' best cells disagreed most
  // since `start`, at the median of the disagreements. Returns a node of the forest that makes this split, and the side
  // of the feature's best cell. (The single split with the most disagreements cuts off too little: twice the boxes.)
  std::int32_t branch(Side& side) const;

  // Store the prices for the gates' origins.
  void save(Prices& prices) const;

 private:
  void evaluate_features();
  void evaluate_gapped(std::size_t i);
  std::int64_t missing_earning(std::size_t i) const;

  const Forest& forest_;
  const std::int32_t largest_payment_;
  const Residual* residual_ = nullptr;
  const Box* box_ = nullptr;
  std::int64_t bound_ = 0;
  std::vector<std::int32_t> alpha_, beta_, best_alpha_, best_beta_;  // per gate
  std::vector<std::int32_t> from_, up_to_;  // per gate: alphas from it to the end of its chain, betas up to it
  std::vector<std::int32_t> pay_left_, pay_right_;  // per node: what going there costs
  std::vector<std::int32_t> value_;  // per constant and node: best value below, payments deducted
  std::vector<std::int32_t> point_value_;  // likewise, for the point of the features' best cells
  std::vector<std::int64_t> paid_;
  std::vector<std::int32_t> went_left_, went_right_;  // per gate: the best path of its tree implies this side
  std::vector<std::uint8_t> on_path_;  // per value index: lies on its tree's best path
  std::vector<std::int64_t> earn_left_, earn_right_;  // per slot: what a cell earns that goes left, right
  std::vector<std::uint8_t> slot_left_;  // per slot: the feature's best cell goes left
  std::vector<Cell> best_cell_;  // per feature of the residual
  std::vector<std::int64_t> best_earning_;  // per feature of the residual
  std::vector<std::int32_t> disagreement_;  // per slot: steps at which a best path took the other side
};

}  // namespace treeproof
