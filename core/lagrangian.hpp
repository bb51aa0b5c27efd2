// The Lagrangian bound on a residual forest, in exact integer arithmetic.
//
// Every gate g, a split of one tree, has two prices alpha_g, beta_g >= 0. A leaf of the tree pays alpha_g if everything
// that reaches it goes left at g, whether its path meets g or not, and beta_g if all of it goes right. The cell x of a
// feature earns alpha_g at every gate of that feature where x goes left, beta_g where it goes right. For any prices
//
//   bound = offset + sum over trees of max over leaves (value - payments)
//                  + sum over features of max over cells of (earnings(cell) + what absorbed trees add there)
//
// is at least the value at every point of the box: what a leaf pays, the cells of every point that reaches it earn, and
// other gates only earn, which is why prices must not be negative. At best it is the bound of the linear relaxation.
// Prices are lowered and raised by a projected subgradient with Polyak steps; any prices give a proof.
//
// Along a chain of gates (see Residual) a leaf whose path last went left at g pays the alphas from g to the end of the
// chain, and one whose path last went right there the betas up to g. So what going left or right at a node costs is the
// difference of two sums over all gates before one, and a pass takes time linear in nodes and gates. Gates of other
// features are paid for at their own nodes only, which is less than is due, and so a bound as well.
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

  // Store prices of the gates of a residual forest for their origins.
  void store(const Residual& residual, const std::vector<std::int32_t>& alpha, const std::vector<std::int32_t>& beta);

 private:
  struct Entry {
    std::int32_t alpha, beta;
    std::uint32_t when;
  };
  std::vector<Entry> entries_;
  std::uint32_t now_ = 1;
};

// Where to split a box: the side to look at first, and a node of the forest that makes the split.
struct Branch {
  std::int32_t node;
  Side side;
};
using Branches = std::vector<Branch>;

// The features on which the trees' best paths and the features' best cells disagreed most, each split at the median of
// its disagreements; at least one, and at most so many. (The single split with the most disagreements cuts off too
// little: twice the boxes.)
template <typename Count, typename GoesLeft>
Branches choose_branches(const Residual& residual, std::size_t most, const Count& disagreement, const GoesLeft& left) {
  struct Candidate {
    std::int64_t all;
    std::int32_t slot;
  };
  std::vector<Candidate> best;
  for (std::size_t i = 0; i < residual.features.size(); ++i) {
    const std::int32_t begin = residual.slot_begin[i], last = residual.slot_begin[i + 1] - 1;
    std::int64_t all = 0, before = 0;
    for (std::int32_t s = begin; s <= last; ++s) all += disagreement(s);
    if (!best.empty() && (all == 0 || (best.size() == most && all <= best.back().all))) continue;
    std::int32_t chosen = begin;
    for (; chosen < last; ++chosen) {
      before += disagreement(chosen);
      if (2 * before >= all) break;
    }
    if (best.size() == most) best.pop_back();
    const auto place = std::find_if(best.begin(), best.end(), [&](const Candidate& other) { return other.all < all; });
    best.insert(place, {all, chosen});
  }
  while (best.size() > 1 && best.back().all == 0) best.pop_back();
  Branches branches;
  for (const Candidate& candidate : best)
    branches.push_back({residual.slot_node[candidate.slot], left(candidate.slot) ? Side::left : Side::right});
  return branches;
}

// The payments on a path do not exceed this, so that values fit 32 bits.
constexpr std::int32_t kLargestPayments = 1 << 29;

// So it is if no price exceeds this, for a path pays for each gate of its tree once at most.
inline std::int32_t largest_price(std::int32_t n_gates, std::int32_t largest_payments = kLargestPayments) {
  return std::min(1 << 24, largest_payments / std::max(n_gates, 1));
}

// Steps aim below the target by what one tree matters, and start with twice Polyak's length; it is halved after some
// steps without a better bound. Found by trial on the paper's forests and on boosted models: shorter steps, averaged or
// deflected directions were slower.
constexpr double kFirstStep = 2.0;
constexpr int kPatience = 8;
constexpr int kCheckInterval = 7;  // steps from one look at whether the bound stalls to the next

// By how much to move that many prices, so that the bound would fall by so much if all else stayed as it is: Polyak's
// length, times a scale.
inline std::int32_t length_of_move(std::int64_t fall, std::int32_t n_prices, double scale) {
  constexpr std::int32_t kLargest = 1 << 26;
  const double exact = scale * static_cast<double>(fall) / n_prices;
  return std::max(1, static_cast<std::int32_t>(std::min(exact, double{kLargest})));
}

class Lagrangian {
 public:
  explicit Lagrangian(const Forest& forest, std::int32_t largest_payments = kLargestPayments)
      : forest_(forest), largest_payments_(largest_payments) {}

  // Start on a residual forest over `box`, with the prices kept for its gates' origins, lowered to the largest allowed.
  void start(const Residual& residual, const Box& box, const Prices& prices);

  // Move the prices as the last step says, and recompute the bound, what every split is worth to its tree, and every
  // feature's best cell.
  std::int64_t evaluate();

  // Whether the bound just evaluated closes the box: it is below `target`; or it is below `exact_target`, and below
  // `target` for every leaf that needs the rounding band, should a tree take it.
  bool closes(std::int64_t target, std::int64_t exact_target);

  // Value of the point made of the features' best cells; `place` puts these cells into a point.
  std::int64_t value_of_best_cells() const;
  void place_best_cells(std::vector<Cell>& point) const;

  // Find out how to move the prices towards a bound of `target`; `scale` shrinks the step. False if no price can move.
  bool step(std::int64_t target, double scale);

  void keep_prices();  // remember the current prices as the best
  void restore_prices();  // go back to them

  // Reduced-cost fixing with the current evaluation: shrink `box` where the bound without a cell or a branch at a root
  // falls below `target`. Returns whether anything was cut off; `empty` is set if nothing is left.
  // Every part that is cut off goes to `recorder`, if there is one, as closed by the current prices for `pair`.
  bool fix(Box& box, std::int64_t target, bool& empty, Recorder* recorder, Pair pair) const;

  // The prices that are not 0: a node of the forest that stands for the gate, alpha, beta.
  std::vector<std::int32_t> nonzero_prices() const;

  // Where to split the box, by at most so many features: see choose_branches. Disagreements are counted since `start`,
  // and the side of the feature's best cell comes first.
  Branches branches(std::size_t most) const;

  // The prices at hand, per gate of the residual forest, and the largest that one may be.
  const std::vector<std::int32_t>& alpha() const { return alpha_; }
  const std::vector<std::int32_t>& beta() const { return beta_; }
  std::int32_t price_limit() const { return largest_price_; }

  // Store the prices for the gates' origins.
  void save(Prices& prices) const { prices.store(*residual_, alpha_, beta_); }

 private:
  void evaluate_features();
  void evaluate_gapped(std::size_t i);
  std::int64_t missing_earning(std::size_t i) const;

  const Forest& forest_;
  const std::int32_t largest_payments_;
  const Residual* residual_ = nullptr;
  const Box* box_ = nullptr;
  std::int32_t largest_price_ = 0;
  std::int64_t bound_ = 0;
  std::vector<std::int32_t> alpha_, beta_, best_alpha_, best_beta_;  // per gate
  std::int32_t move_ = 0;  // by how much the next evaluation lowers prices, times what follows
  std::vector<std::int32_t> lower_alpha_, lower_beta_;  // per gate: 1, 0 or -1
  std::vector<std::uint32_t> alphas_, betas_;  // per gate and behind the last: those before it, modulo 2^32
  std::vector<std::int32_t> value_;  // per constant, the last one first, and node: best value below, payments deducted
  std::vector<std::int32_t> lead_;  // per node: by how much its left side is worth more than its right side
  std::vector<std::int64_t> through_;  // per node: the bound if its tree's path must lead there
  std::vector<std::int32_t> implied_;  // per gate and behind the last: all 0 but within a step
  std::vector<std::int64_t> turn_;  // per slot: what a cell earns more that goes right than one that goes left
  std::vector<std::uint8_t> slot_left_;  // per slot: the feature's best cell goes left
  std::vector<Cell> best_cell_;  // per feature of the residual
  std::vector<std::int64_t> best_earning_;  // per feature of the residual: above that of going left at all splits
  std::vector<std::int32_t> disagreement_;  // per slot: steps at which a best path took the other side
};

}  // namespace treeproof
