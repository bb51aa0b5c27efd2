#include "parts.hpp"

#include <algorithm>

namespace treeproof {
namespace {

constexpr int kMostPasses = 32;  // after so many a part stalls
constexpr int kSoonInLanes = 6;  // so it does if at the present rate it would not close in so many
constexpr std::size_t kMostSplits = 6;

}  // namespace

void Parts::start(const Residual& residual, const Box& box, const Branches& branches, const Lagrangian& prices,
                  Goal goal) {
  goal_ = goal;
  passes_ = 0;
  left_.clear();
  open_ = {true};
  scale_ = {};
  box_[0] = box;
  progress_[0] = {};
  std::vector<Box> parts;
  for (const int lane : split(0, branches)) parts.push_back(box_[lane]);
  lanes_.start(residual, parts, prices);
}

void Parts::step(Outcome& outcome) {
  lanes_.evaluate();
  const bool is_check = ++passes_ % kCheckInterval == 0;
  Flags better{}, moves{};
  std::array<std::int64_t, Lanes::kLanes> aim{};
  for (int lane = 0; lane < Lanes::kLanes; ++lane) {
    if (!open_[lane] || closes(lane, outcome)) continue;
    better[lane] = improves(lane);
    if (is_check) check(lane);
    const bool is_close = lanes_.bound(lane) < goal_.exact_target;
    aim[lane] = (is_close ? goal_.target : goal_.exact_target) - forest_.finest().typical();
  }
  if (!any()) return;
  if (count(better) > 0) lanes_.keep_prices(better);
  lanes_.step(aim, scale_, moves);
  for (int lane = 0; lane < Lanes::kLanes; ++lane) progress_[lane].stalls |= !moves[lane];
  if (is_check || count(stalled()) == count(open_)) share_lanes();
}

int Parts::count(const Flags& flags) { return static_cast<int>(std::count(flags.begin(), flags.end(), true)); }

Parts::Flags Parts::stalled() const {
  Flags flags{};
  for (int lane = 0; lane < Lanes::kLanes; ++lane) flags[lane] = open_[lane] && progress_[lane].stalls;
  return flags;
}

bool Parts::closes(int lane, Outcome& outcome) {
  const std::int64_t bound = lanes_.bound(lane);
  if (bound >= goal_.target) return false;
  open_[lane] = false;
  scale_[lane] = 0;
  outcome.near_tie |= bound >= goal_.wide_target;
  ++outcome.boxes;
  return true;
}

bool Parts::improves(int lane) {
  Progress& own = progress_[lane];
  ++own.passes;
  if (lanes_.bound(lane) < own.best) {
    own.best = lanes_.bound(lane);
    own.waited = 0;
    return true;
  }
  if (++own.waited >= kPatience) {
    scale_[lane] *= 0.5;
    own.waited = 0;
  }
  return false;
}

void Parts::check(int lane) {
  Progress& own = progress_[lane];
  const bool is_slow = (own.best_at_check - own.best) * kSoonInLanes < (own.best - goal_.target) * kCheckInterval;
  own.stalls = own.stalls || is_slow || own.passes >= kMostPasses;
  own.best_at_check = own.best;
}

// Split the parts that stall into the free lanes, in equal shares; hand those back for which that is not worth it.
void Parts::share_lanes() {
  const bool is_full = count(open_) == Lanes::kLanes && count(stalled()) == Lanes::kLanes;
  for (int lane = 0; lane < Lanes::kLanes; ++lane)
    if (stalled()[lane] && (is_full || progress_[lane].splits >= kMostSplits)) hand_back(lane);
  const Flags splits = stalled();
  int n_splits = count(splits);
  for (int lane = 0; lane < Lanes::kLanes; ++lane) {
    const int n_free = Lanes::kLanes - count(open_);
    if (!splits[lane] || n_free == 0) continue;
    std::size_t most = 1;
    while (most < kSplits && ((2 << most) - 1) * n_splits <= n_free) ++most;
    --n_splits;
    Branches branches = lanes_.branches(lane, most);
    std::erase_if(branches, [&](const Branch& branch) { return box_[lane].side(forest_, branch.node) != Side::both; });
    if (branches.empty()) {
      hand_back(lane);
      continue;
    }
    for (const int part : split(lane, branches)) lanes_.take(part, box_[part], lane);
  }
}

void Parts::hand_back(int lane) {
  left_.push_back({box_[lane], lanes_.branches(lane, kSplits), {}, {}});
  lanes_.best_prices(lane, left_.back().alpha, left_.back().beta);
  open_[lane] = false;
  scale_[lane] = 0;
}

// Split the part of a lane into this lane, whose part is the most promising one, and free ones; returns them.
std::vector<int> Parts::split(int lane, const Branches& branches) {
  std::vector<int> lanes{lane};
  for (const auto& [node, side] : branches) {
    for (std::size_t i = 0, n = lanes.size(); i < n; ++i) {
      const auto free = static_cast<int>(std::find(open_.begin(), open_.end(), false) - open_.begin());
      box_[free] = box_[lanes[i]];
      box_[lanes[i]].restrict(forest_, node, side);
      box_[free].restrict(forest_, node, side == Side::left ? Side::right : Side::left);
      open_[free] = true;
      lanes.push_back(free);
    }
  }
  const std::size_t splits = progress_[lane].splits + branches.size();
  for (const int part : lanes) {
    progress_[part] = {};
    progress_[part].splits = splits;
    scale_[part] = kFirstStep;
  }
  return lanes;
}

}  // namespace treeproof
