// Groves: joined trees are worth what their members are, at every point; so is what a smaller box leaves of them.
#include "../groves.hpp"
#include "../lagrangian.hpp"
#include "../scale.hpp"
#include "checks.hpp"

namespace treeproof::testing {
namespace {

// What it is worth at the points inside: as much as expected, or, where huge values are cut off, as large as matters.
void check_values(const Case& c, const Residual& r, Pair pair, const std::vector<std::size_t>& inside) {
  const std::int64_t target = c.forest.scale.exact_target(c.forest, pair);
  for (const std::size_t x : inside) {
    const std::int64_t value = residual_value(c, r, c.points[x]), expected = scaled_sum(c, x, pair);
    CHECK(value == expected || (cuts_off(c) && (value > expected || value >= target)),
          "joined trees are worth what they are alone");
  }
}

// Any prices give a bound; prices of the forest's gates are kept if they are saved.
std::int64_t check_bounds(Random& random, const Case& c, const Residual& r, const Box& box, Pair pair,
                          const std::vector<std::size_t>& inside) {
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (const std::size_t x : inside) most = std::max(most, residual_value(c, r, c.points[x]));
  Prices prices(c.forest.gate_node.size());
  Lagrangian lagrangian(c.forest);
  lagrangian.start(r, box, prices);
  const std::int64_t naive = lagrangian.evaluate();
  std::int64_t bound = naive;
  for (int i = 0; i < 12 && lagrangian.step(c.forest.scale.target(c.forest, pair), random.between(1, 20) / 8.0); ++i) {
    CHECK(bound >= most, "a bound on joined trees");
    bound = lagrangian.evaluate();
  }
  CHECK(bound >= most, "a bound on joined trees");
  lagrangian.save(prices);
  lagrangian.start(r, box, prices);
  CHECK(!r.singles.empty() || lagrangian.evaluate() == bound, "prices that several gates share add up again");
  return naive;
}

std::int64_t naive_bound(const Case& c, const Residual& r, const Box& box) {
  Lagrangian lagrangian(c.forest);
  lagrangian.start(r, box, Prices(c.forest.gate_node.size()));
  return lagrangian.evaluate();
}

// Trees that a smaller box leaves with one ordered feature are absorbed.
void check_absorbed_within(const Case& c, const Residual& r, const Residual& around) {
  std::int32_t first = 0;
  for (const std::int32_t root : r.roots) {
    CHECK(!is_absorbable(c, r, first, root), "no tree is left that may be absorbed");
    first = root + 1;
  }
  bool some = false;
  for (std::size_t s = 0; s < r.slot_node.size(); ++s) {
    const auto was = std::find(around.slot_node.begin(), around.slot_node.end(), r.slot_node[s]);
    some = some || r.slot_turn[s] != around.slot_turn[was - around.slot_node.begin()];
  }
  counts.absorbed_within += some;
}

}  // namespace

void check_groves(Random& random, const Case& c, Groves& groves, const Contest& contest) {
  if (random.chance(20)) groves.forget();
  groves.form(contest.residual);
  Residual joined;
  groves.join(contest.residual, joined);
  CHECK(joined.roots.size() <= contest.residual.roots.size(), "joined trees are fewer");
  CHECK(joined.trees.size() == joined.roots.size(), "one number for each tree");
  counts.joined += joined.roots.size() < contest.residual.roots.size();
  check_values(c, joined, contest.pair, contest.inside);
  const std::int64_t bound = check_bounds(random, c, joined, contest.box, contest.pair, contest.inside);
  CHECK(cuts_off(c) || bound <= naive_bound(c, contest.residual, contest.box), "a bound that is not weaker");
  // Smaller boxes, one within the other.
  ResidualBuilder builder(c.forest);
  const Flags restricted = restricted_of(c, contest.allowed);
  Allowed allowed = contest.allowed;
  for (int i = 0; i < 2; ++i) {
    allowed = inside_of(random, c, allowed);
    const Residual around = joined;
    Flags used(restricted.size(), 0);
    builder.narrow(joined, around, box_of(c, allowed), restricted, used);
    check_absorbed_within(c, joined, around);
    CHECK(is_subset(used, restricted), "only restrictions can be used");
    const std::vector<std::size_t> inside = c.inside(allowed);
    check_values(c, joined, contest.pair, inside);
    check_bounds(random, c, joined, box_of(c, allowed), contest.pair, inside);
    for (std::int32_t g = 0; g < joined.n_gates(); ++g)
      CHECK(std::any_of(joined.nodes.begin(), joined.nodes.end(), [&](const auto& fork) { return fork.gate == g; }),
            "a gate that is left has a node");
  }
}

}  // namespace treeproof::testing
