// Closes the parts of a box side by side, in lanes.
//
// The box is split by three features at once, and the bounds of its eight parts are lowered together. A part whose
// bound stalls is split again, into the lanes of parts that are closed by then. It is handed back once it differs from
// the box by so many splits that a residual forest of its own is worth its price, or if no lane is free.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "box.hpp"
#include "branch_and_bound.hpp"
#include "lagrangian.hpp"
#include "lanes.hpp"
#include "residual.hpp"

namespace treeproof {

class Parts {
 public:
  static constexpr std::size_t kSplits = 3;  // features that a box is split by at once
  static_assert(1U << kSplits == Lanes::kLanes);

  // What closes a part: a bound below `target`. It is a near tie if that is not below `wide_target`. Where the bound is
  // below `exact_target`, leaves that need the rounding band are what keeps a part open.
  struct Goal {
    std::int64_t target, wide_target, exact_target;
  };

  // A part that stays open: where to split it, and its best prices.
  struct Open {
    Box box;
    Branches branches;
    std::vector<std::int32_t> alpha, beta;
  };

  explicit Parts(const Forest& forest) : forest_(forest) {}

  // Start on a box, split in this way, with the prices of a bound on its residual forest.
  void start(const Residual& residual, const Box& box, const Branches& branches, const Lagrangian& prices, Goal goal);

  // Whether parts are still at work.
  bool any() const { return count(open_) > 0; }

  // One step of all bounds. Counts closed parts, and near ties, in `outcome`.
  void step(Outcome& outcome);

  // The parts that were handed back.
  std::vector<Open>& left() { return left_; }

 private:
  using Flags = std::array<bool, Lanes::kLanes>;
  struct Progress {
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    std::int64_t best_at_check = std::int64_t{1} << 50;  // large, so that the first check never ends it
    int waited = 0;  // steps without a better bound
    int passes = 0;
    std::size_t splits = 0;  // since the box
    bool stalls = false;
  };

  static int count(const Flags& flags);
  Flags stalled() const;
  bool closes(int lane, Outcome& outcome);
  bool improves(int lane);
  void check(int lane);
  void share_lanes();
  void hand_back(int lane);
  std::vector<int> split(int lane, const Branches& branches);

  const Forest& forest_;
  Lanes lanes_;
  Goal goal_{};
  int passes_ = 0;
  Flags open_{};  // per lane: it has a part that is open
  std::array<Box, Lanes::kLanes> box_;  // of its part
  std::array<Progress, Lanes::kLanes> progress_;
  std::array<double, Lanes::kLanes> scale_{};  // of its steps
  std::vector<Open> left_;
};

}  // namespace treeproof
