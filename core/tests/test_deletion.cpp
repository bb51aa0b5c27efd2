// Canonical deletion, by its definition.
#include "../deletion.hpp"
#include "checks.hpp"

namespace treeproof::testing {

bool suffices(const Case& c, const Point& point, const Flags& kept, Claim claim, Allowed allowed) {
  for (std::size_t f = 0; f < kept.size(); ++f)
    if (kept[f]) allowed[f] = {point[f]};
  return holds(c, allowed, claim);
}

// The cells of a freed feature: all, those near the point, or just the point's own.
Allowed free_around(Random& random, const Case& c, const Point& point) {
  Allowed free = c.full();
  if (random.chance(50)) return free;
  for (std::size_t f = 0; f < point.size(); ++f) {
    if (random.chance(25)) continue;
    free[f] = {point[f]};
    for (int i = random.between(0, 3); i > 0; --i) widen(random, c, free[f], f);
  }
  return free;
}

void check_deletion(Random& random, const Case& c, Searcher& reused) {
  for (int i = 0; i < 2; ++i) {
    const Point point = random.pick(c.points);
    const Claim claim = true_claim(random, c, point);
    const Allowed free = free_around(random, c, point);
    const Box box = box_of(c, free);
    Flags start(point.size(), 1);
    for (int tries = 0; tries < 4 && random.chance(60); ++tries) {
      Flags fewer = start;
      fewer[random.below(static_cast<int>(fewer.size()))] = 0;
      if (suffices(c, point, fewer, claim, free)) start = fewer;
    }
    std::vector<std::int32_t> order(point.size());
    std::iota(order.begin(), order.end(), 0);
    random.shuffle(order);
    if (random.chance(20)) order.resize(1 + random.below(static_cast<int>(order.size())));
    if (random.chance(10)) order.push_back(random.pick(order));

    Flags expected = start;
    for (const std::int32_t f : order) {
      const std::uint8_t before = expected[f];
      expected[f] = 0;
      if (!suffices(c, point, expected, claim, free)) expected[f] = before;
    }
    const Deletion found = delete_features(reused, c.forest, point, claim, box, order, start, never_stop);
    CHECK(found.minimal && found.tally.unknown == 0, "a deletion that nobody stops is complete");
    CHECK(found.kept == expected, "deletion keeps what naive deletion keeps");
    CHECK(c.model.band > 0 || found.tally.near_ties == 0, "without a band nothing is near a tie");
    Searcher fresh(c.forest);
    CHECK(delete_features(fresh, c.forest, point, claim, box, order, start, never_stop).kept == expected,
          "deletion with a fresh searcher");
    ++counts.explanations;

    const Deletion part = delete_features(random.chance(50) ? reused : fresh, c.forest, point, claim, box, order, start,
                                          stop_after(random.between(0, 12)));
    CHECK(is_subset(part.kept, start), "deletion only deletes");
    CHECK(suffices(c, point, part.kept, claim, free), "what a stopped deletion keeps is enough");
    CHECK(part.minimal == (part.tally.unknown == 0), "only a stop leaves deletion incomplete");
    CHECK(!part.minimal || part.kept == expected, "a deletion said to be complete is complete");
    counts.stopped_explanations += !part.minimal;
  }
}

// Only the last feature matters: the first proof shows it, and the others are deleted without asking.
void check_deletion_remembers() {
  Model model;
  model.n_classes = 2;
  model.n_cells = {2, 2, 2, 2};
  model.ordered = {1, 1, 1, 1};
  model.trees = {stump(3, {true, false}, 0, 1)};
  const Case c(std::move(model));
  Searcher searcher(c.forest);
  const Deletion found = delete_features(searcher, c.forest, {0, 0, 0, 0}, {ClaimKind::stays, 0}, Box::full(c.forest),
                                         {0, 1, 2, 3}, {1, 1, 1, 1}, never_stop);
  CHECK(found.kept == (Flags{0, 0, 0, 1}) && found.tally.entailed == 1 && found.tally.remembered == 2 &&
            found.tally.refuted == 1,
        "what a proof did not use is not asked again");
}

}  // namespace treeproof::testing
