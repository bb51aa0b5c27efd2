// The trail of a point: its leaves and leads while it moves, and the best change of one feature.
#include "../trail.hpp"
#include "checks.hpp"

namespace treeproof::testing {

void check_trail(Random& random, const Case& c) {
  if (c.model.n_classes < 2) return;
  const Allowed allowed = random_box(random, c);
  const Box box = box_of(c, allowed);
  Trail trail(c.forest);
  Pair pair{0, 1};
  Point point = random_point(random, allowed);
  const auto lead = [&](const Point& at) {
    const std::vector<std::int64_t> sums = c.forest.total_scores(at);
    return sums[pair.winner] - sums[pair.loser];
  };
  for (int i = 0; i < 6; ++i) {
    if (random.chance(25)) trail.forget();
    if (random.chance(30)) {
      pair.winner = random.between(0, c.model.n_classes - 1);
      pair.loser = (pair.winner + random.between(1, c.model.n_classes - 1)) % c.model.n_classes;
    }
    const Point other = random_point(random, allowed);
    for (std::size_t f = 0; f < point.size(); ++f)
      if (random.chance(40)) point[f] = other[f];
    trail.go(point, pair);
    CHECK(trail.leaves() == c.forest.leaves(point), "a trail knows the leaves of its point");
    CHECK(trail.lead() == lead(point), "and by how much the winner leads there");
    for (int f = 0; f < c.forest.n_features; ++f) {
      std::int64_t most = lead(point);
      for (const Cell cell : allowed[f]) {
        Point moved = point;
        moved[f] = cell;
        most = std::max(most, lead(moved));
      }
      if (!c.forest.ordered[f]) most = lead(point);
      Cell best = -1;
      CHECK(trail.best_lead(box, f, best) == most, "the best lead is that of the best cell");
      Point moved = point;
      moved[f] = best;
      CHECK(contains(allowed, moved) && lead(moved) == most, "which is in the box");
    }
    ++counts.trails;
  }
}

}  // namespace treeproof::testing
