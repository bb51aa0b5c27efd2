// Local search: the value it tells is that of its point.
#include "../local_search.hpp"
#include "checks.hpp"

namespace treeproof::testing {

void check_local_search(Random& random, const Case& c, LocalSearch& search, const Contest& contest) {
  const Residual& r = contest.residual;
  const Point start = random_point(random, contest.allowed);
  const std::int64_t here = residual_value(c, r, start);
  const std::int64_t best = *std::max_element(contest.values.begin(), contest.values.end());

  // One step: the best change of one feature, also when it is no improvement.
  std::int64_t one_better = std::numeric_limits<std::int64_t>::min();
  for (const std::int32_t f : r.features)
    for (const Cell cell : contest.allowed[f]) {
      // Of values any other, and missing for a number; of numbers one that takes another side at some split.
      const Cell missing = c.model.n_cells[f] - 1;
      bool differs =
          c.model.is_gapped(f) ? (cell == missing) != (start[f] == missing) : !c.model.ordered[f] && cell != start[f];
      for (const std::int32_t node : r.slot_node) {
        const TwinNode& twin = *c.twins[node];
        differs = differs || (twin.feature == f && twin.goes_left[cell] != twin.goes_left[start[f]]);
      }
      Point point = start;
      point[f] = cell;
      if (differs) one_better = std::max(one_better, residual_value(c, r, point));
    }
  search.start(r, contest.box, start);
  const std::int64_t after = search.run(std::numeric_limits<std::int64_t>::max(), 1, never_stop);
  CHECK(after == (r.features.empty() ? here : one_better), "the first step is the best change of one feature");

  search.start(r, contest.box, start);
  search.run(std::numeric_limits<std::int64_t>::max(), 5, stop_after(0));
  Point stayed = start;
  search.place(stayed);
  CHECK(stayed == start, "local search takes no step once it must stop");

  Point scattered = start;
  search.scatter(r, contest.box, scattered);
  CHECK(contains(contest.allowed, scattered), "random cells are in the box");
  for (std::size_t f = 0; f < start.size(); ++f) {
    const bool splits =
        std::find(r.features.begin(), r.features.end(), static_cast<std::int32_t>(f)) != r.features.end();
    CHECK(splits || scattered[f] == start[f], "cells that no split looks at stay");
  }

  for (const std::int64_t target : {best, best + 1, here}) {
    Point point = start;
    search.start(r, contest.box, start);
    const std::int64_t value = search.run(target, random.between(1, 20), never_stop);
    search.place(point);
    CHECK(contains(contest.allowed, point), "local search stays in the box");
    CHECK(value == residual_value(c, r, point), "local search tells the value of its point");
    CHECK(target != here || point == start, "local search stays where the target is reached");
    ++counts.local_searches;
  }
}

// Local search added what the last cells of one feature change to all cells of the next one, and so took a step for
// worth 0 that cost a vote.
void regression_gain_of_the_next_feature() {
  Model model;
  model.n_classes = 2;
  model.n_cells = {2, 2};
  model.ordered = {1, 1};
  model.trees = {stump(0, {true, false}, 0, 1), stump(1, {true, false}, 1, 0)};
  const Case c(std::move(model));
  const Box box = Box::full(c.forest);
  const Residual residual = residual_of(c, box, {0, 1});
  LocalSearch search(c.forest);
  Point point{0, 1};
  search.start(residual, box, point);
  const std::int64_t value = search.run(std::numeric_limits<std::int64_t>::max(), 1, never_stop);
  search.place(point);
  CHECK(value == 0 && residual_value(c, residual, point) == 0, "either change costs one of the two votes");
}

}  // namespace treeproof::testing
