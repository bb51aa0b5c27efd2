// Parts of a box: what they close has no point that is worth as much as the target; all else is handed back.
#include "../lagrangian.hpp"
#include "../parts.hpp"
#include "checks.hpp"

namespace treeproof::testing {
namespace {

bool has(const Case& c, const Box& box, const Point& point) {
  for (std::size_t f = 0; f < point.size(); ++f)
    if (!box.has(c.forest, static_cast<int>(f), point[f])) return false;
  return true;
}

}  // namespace

void check_parts(Random& random, const Case& c, Parts& parts, const Contest& contest) {
  const Residual& r = contest.residual;
  if (r.slot_node.empty() || !Lanes::takes(c.forest, r)) return;
  std::vector<std::int64_t> values;
  for (const std::size_t x : contest.inside) values.push_back(residual_value(c, r, c.points[x]));
  std::int64_t target = values[random.below(static_cast<int>(values.size()))] + random.between(-1, 1);
  if (random.chance(50)) target = *std::max_element(values.begin(), values.end()) + 1;
  const Prices prices(c.forest.gate_node.size());
  Lagrangian whole(c.forest);
  whole.start(r, contest.box, prices);
  whole.evaluate();
  whole.step(target, 1);
  Branches branches = whole.branches(Parts::kSplits);
  std::erase_if(branches, [&](const Branch& branch) { return contest.box.side(c.forest, branch.node) != Side::both; });
  if (branches.empty()) return;
  Outcome outcome;
  const std::int64_t wide = target - random.below(2);
  parts.start(r, contest.box, branches, whole, {target, wide, target + random.below(2)});
  int steps = 0;
  for (; parts.any(); ++steps) {
    CHECK(steps < 100'000, "parts are closed or handed back some time");
    parts.step(outcome);
  }
  CHECK(outcome.status == Status::entailed && outcome.boxes + parts.left().size() >= 2, "every part ends in one way");
  CHECK(outcome.boxes > 0 || !outcome.near_tie, "only a part that is closed is a near tie");
  for (const Parts::Open& part : parts.left()) {
    CHECK(part.alpha.size() == r.gate_slot.size() && part.beta.size() == part.alpha.size(), "its gates have prices");
    for (const std::size_t x : c.inside(c.full()))
      CHECK(!has(c, part.box, c.points[x]) || has(c, contest.box, c.points[x]), "a part lies in the box");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto holders = std::count_if(parts.left().begin(), parts.left().end(), [&](const Parts::Open& part) {
      return has(c, part.box, c.points[contest.inside[i]]);
    });
    CHECK(holders <= 1, "parts do not overlap");
    CHECK(holders == 1 || values[i] < target, "a closed part has no point that is worth the target");
    CHECK(holders == 1 || values[i] < wide || outcome.near_tie, "it is a near tie if a point is worth the wide target");
  }
  ++counts.parts;
  counts.parts_closed += outcome.boxes;
  counts.parts_left += parts.left().size();
  counts.parts_split += outcome.boxes + parts.left().size() > std::size_t{1} << branches.size();
}

}  // namespace treeproof::testing
