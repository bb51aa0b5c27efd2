// The bounds of eight parts of a box: that of the whole box is the scalar one, step by step; those of others are
// bounds.
#include "../lagrangian.hpp"
#include "../lanes.hpp"
#include "checks.hpp"

namespace treeproof::testing {
namespace {

constexpr int kLanes = Lanes::kLanes;

}  // namespace

void check_lanes(Random& random, const Case& c, const Contest& contest) {
  const Residual& r = contest.residual;
  if (!Lanes::takes(c.forest, r)) {
    CHECK(std::any_of(r.features.begin(), r.features.end(), [&](std::int32_t f) { return !c.forest.ordered[f]; }),
          "it takes all residual forests over ordered features");
    return;
  }
  // The first part is the whole box; the others are any boxes inside.
  std::vector<Box> parts{contest.box};
  std::vector<std::vector<std::size_t>> inside{contest.inside};
  for (int n = random.between(1, kLanes); static_cast<int>(parts.size()) < n;) {
    const Allowed allowed = inside_of(random, c, contest.allowed);
    parts.push_back(box_of(c, allowed));
    inside.push_back(c.inside(allowed));
  }
  const auto n_parts = static_cast<int>(parts.size());
  Prices prices(c.forest.gate_node.size());
  if (random.chance(50))
    for (std::size_t g = 0; g < c.forest.gate_node.size(); ++g)
      prices.set(static_cast<std::int32_t>(g), random.below(1 << 20), random.below(1 << 20));
  Lagrangian whole(c.forest);
  whole.start(r, contest.box, prices);
  Lanes lanes(random.chance(50));
  lanes.start(r, parts, whole);
  std::int64_t kept = 0;
  std::array<bool, kLanes> which{}, moves{};
  for (int i = random.between(1, 12);; --i) {
    const std::int64_t bound = whole.evaluate();
    lanes.evaluate();
    CHECK(lanes.bound(0) == bound, "the bound of a part that is the whole box is that of the box");
    for (int lane = 0; lane < n_parts; ++lane) {
      for (const std::size_t x : inside[lane])
        CHECK(lanes.bound(lane) >= residual_value(c, r, c.points[x]),
              "no point of a part is worth more than its bound");
      ++counts.lanes;
      counts.fewer_in_lanes += lanes.bound(lane) < bound;
    }
    if (i == 0) break;
    if (kept == 0 || random.chance(30)) {
      which.fill(false);
      which[0] = true;
      for (int lane = 1; lane < kLanes; ++lane) which[lane] = random.chance(50);
      lanes.keep_prices(which);
      whole.keep_prices();
      kept = bound;
    }
    std::array<std::int64_t, kLanes> aim{};
    std::array<double, kLanes> scale{};
    for (int lane = 0; lane < kLanes; ++lane) {
      aim[lane] = lanes.bound(lane) - random.between(0, 1 << 20);
      scale[lane] = lane > 0 && random.chance(10) ? 0 : random.between(1, 20) / 8.0;
    }
    lanes.step(aim, scale, moves);
    CHECK(whole.step(aim[0], scale[0]) == moves[0], "prices move where they do for the whole box");
    if (!r.slot_node.empty() && i == 1) {
      const Branches expected = whole.branches(3), found = lanes.branches(0, 3);
      CHECK(std::equal(expected.begin(), expected.end(), found.begin(), found.end(),
                       [](const Branch& a, const Branch& b) { return a.node == b.node && a.side == b.side; }),
            "it is split where the whole box is");
      for (int lane = 0; lane < n_parts; ++lane)
        for (const auto& [node, side] : lanes.branches(lane, 3))
          CHECK(contest.box.side(c.forest, node) == Side::both, "a part is split at a split of the box");
    }
    if (!moves[0]) break;
    if (kept != 0 && random.chance(20)) {  // another part, from the best prices of any lane
      const int lane = random.between(1, kLanes - 1);
      const Allowed allowed = inside_of(random, c, contest.allowed);
      lanes.take(lane, box_of(c, allowed), random.below(kLanes));
      if (lane < n_parts) inside[lane] = c.inside(allowed);
      ++counts.lanes_taken;
    }
  }
  whole.restore_prices();
  Prices scalar(c.forest.gate_node.size()), stored(c.forest.gate_node.size());
  whole.save(scalar);
  std::vector<std::int32_t> alpha, beta;
  lanes.best_prices(0, alpha, beta);
  stored.store(r, alpha, beta);
  for (std::size_t g = 0; g < c.forest.gate_node.size(); ++g) {
    const auto gate = static_cast<std::int32_t>(g);
    CHECK(scalar.alpha(gate) == stored.alpha(gate) && scalar.beta(gate) == stored.beta(gate),
          "the best prices are stored as those of the whole box");
  }
}

}  // namespace treeproof::testing
