// A point that moves by one feature at a time, against the labels of all points.
#include "../sweep.hpp"
#include "checks.hpp"

namespace treeproof::testing {

void check_sweep(Random& random, const Case& c) {
  Forest forest = c.forest;
  if (random.chance(40)) add_clauses(random, forest);
  const Claim claim = true_claim(random, c, random.pick(c.points));
  const auto is_witness = [&](const Point& point) {
    return violates(claim, forest.label(point)) &&
           std::all_of(forest.clauses.begin(), forest.clauses.end(),
                       [&](const Clause& clause) { return keeps(forest, clause, point); });
  };
  Point point = random_point(random, c.full());
  Sweep sweep(forest, claim);
  sweep.start(point);
  for (int moves = 0; moves < 6; ++moves) {
    const int f = random.below(static_cast<int>(point.size()));
    const Cell before = std::exchange(point[f], random.pick(c.full()[f]));
    sweep.move(f, point[f]);
    CHECK(sweep.point() == point && sweep.violates() == is_witness(point), "a moved point has the label of its place");
    CHECK(sweep.label() == forest.label(point), "and says it");
    if (random.chance(40)) {
      point[f] = before;
      sweep.move_back();
      CHECK(sweep.point() == point && sweep.violates() == is_witness(point),
            "a move that is taken back leaves nothing");
    }
    const int along = random.below(static_cast<int>(point.size()));
    if (!c.model.ordered[along] && !c.model.is_gapped(along)) continue;
    const int n_numbers = c.model.n_cells[along] - c.model.is_gapped(along);
    if (n_numbers == 0) continue;
    const Cell from = random.below(n_numbers), to = random.below(n_numbers), one = from <= to ? 1 : -1;
    std::optional<Cell> expected;
    for (Cell cell = from; !expected && cell != to + one; cell += one) {
      Point there = point;
      there[along] = cell;
      if (is_witness(there)) expected = cell;
    }
    CHECK(sweep.nearest_violation(along, from, to) == expected, "a sweep finds the nearest witness along a feature");
    CHECK(sweep.point() == point && sweep.violates() == is_witness(point), "a sweep leaves the point where it is");
    ++counts.sweeps;
    counts.sweep_witnesses += expected.has_value();
  }
}

}  // namespace treeproof::testing
