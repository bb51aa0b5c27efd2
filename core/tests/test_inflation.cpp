// Canonical widening, by its definition.
#include "../deletion.hpp"
#include "../inflation.hpp"
#include "checks.hpp"

namespace treeproof::testing {

void check_inflation(Random& random, const Case& c) {
  Forest forest = c.forest;
  if (random.chance(40)) add_clauses(random, forest);
  const std::unique_ptr<const Table> table = random.chance(20) ? Table::make(forest) : nullptr;
  const auto entails = [&](const Allowed& allowed, Claim claim) {
    for (const std::size_t x : c.inside(allowed))
      if (violates(claim, c.labels[x]) &&
          std::all_of(forest.clauses.begin(), forest.clauses.end(),
                      [&](const Clause& clause) { return keeps(forest, clause, c.points[x]); }))
        return false;
    return true;
  };
  Searcher reused(forest, table.get());
  const Point point = random.pick(c.points);
  const Claim claim = true_claim(random, c, point);
  Allowed start;
  for (const Cell cell : point) start.push_back({cell});
  for (int tries = 0; tries < 6; ++tries) {  // some features free or wider already
    Allowed wider = start;
    const int f = random.below(static_cast<int>(wider.size()));
    wider[f] = c.full()[f];
    if ((c.model.ordered[f] || c.model.is_gapped(f)) && random.chance(50)) {
      std::erase_if(wider[f], [&](Cell cell) { return std::abs(cell - point[f]) > 1; });
    } else if (random.chance(50)) {
      std::erase_if(wider[f], [&](Cell cell) {
        return cell != point[f] && !c.model.ordered[f] && !c.model.is_gapped(f) && random.chance(50);
      });
    }
    if (entails(wider, claim)) start = wider;
  }
  std::vector<std::int32_t> order(point.size());
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(order);
  if (random.chance(20)) order.resize(1 + random.below(static_cast<int>(order.size())));

  Allowed expected = start;
  int share = 0;  // in 64ths: all ends together
  for (const int more : {32, 16, 8, 4, 2, 1}) {
    Allowed wider = start;
    for (const std::int32_t f : order) {
      const bool has_missing = c.model.is_gapped(f) && start[f].back() == c.model.n_cells[f] - 1;
      if ((!c.model.ordered[f] && !c.model.is_gapped(f)) || start[f].size() == has_missing) continue;
      const Cell low = start[f].front(), high = start[f][start[f].size() - 1 - has_missing];
      const Cell last = c.model.n_cells[f] - 1 - c.model.is_gapped(f);
      wider[f].clear();
      for (Cell cell = low - low * (share + more) / 64; cell <= high + (last - high) * (share + more) / 64; ++cell)
        wider[f].push_back(cell);
      if (has_missing) wider[f].push_back(c.model.n_cells[f] - 1);
    }
    if (!entails(wider, claim)) continue;
    expected = wider;
    share += more;
  }
  // Then cell by cell.
  for (const std::int32_t f : order) {
    std::vector<Cell> taken = expected[f];
    const auto joins = [&](Cell cell) {
      expected[f] = {cell};
      if (!entails(expected, claim)) return false;
      taken.push_back(cell);
      return true;
    };
    if (c.model.ordered[f]) {
      const Cell first = taken.front(), last = taken.back();
      for (Cell cell = last + 1; cell < c.model.n_cells[f] && joins(cell);) ++cell;
      for (Cell cell = first - 1; cell >= 0 && joins(cell);) --cell;
    } else if (c.model.is_gapped(f)) {
      const Cell missing = c.model.n_cells[f] - 1;
      const bool has_missing = taken.back() == missing;
      const auto n_numbers = static_cast<std::size_t>(taken.size()) - has_missing;
      if (n_numbers > 0) {
        const Cell first = taken.front(), last = taken[n_numbers - 1];
        for (Cell cell = last + 1; cell < missing && joins(cell);) ++cell;
        for (Cell cell = first - 1; cell >= 0 && joins(cell);) --cell;
      } else {  // from the lowest number that can join
        Cell cell = 0;
        while (cell < missing && !joins(cell)) ++cell;
        for (++cell; cell < missing && joins(cell);) ++cell;
      }
      if (!has_missing) joins(missing);
    } else {
      for (Cell cell = 0; cell < c.model.n_cells[f]; ++cell)
        if (std::find(start[f].begin(), start[f].end(), cell) == start[f].end()) joins(cell);
    }
    std::sort(taken.begin(), taken.end());
    expected[f] = taken;
  }
  // Small searches are over before patience is: with less of it, guesses are made, and many of them are wrong.
  for (const Guessing guessing :
       {Guessing{}, Guessing{0, 1000}, Guessing{random.between(0, 3), random.between(1, 4)}}) {
    const Inflation found =
        inflate(reused, forest, point, claim, box_of(c, start), order, never_stop, kAnyWork, guessing);
    CHECK(found.widest && !found.stopped && found.tally.unknown == 0, "a widening that nobody stops is complete");
    bool ended = false;  // before the last cell of a feature
    for (const std::int32_t f : order) ended = ended || expected[f] != c.full()[f];
    CHECK(!ended || found.tally.refuted > 0, "a widening ends where it was refuted");
    CHECK(ended || found.retaken > 0 || found.tally.refuted == 0,
          "only where it ends, or guessed wrongly, it was refuted");
    CHECK(allowed_of(c, found.box) == expected, "widening takes the cells that naive widening takes");
    CHECK(c.model.band > 0 || found.tally.near_ties == 0, "without a band nothing is near a tie");
    counts.retaken_inflations += found.retaken > 0;
    for (const std::size_t x : c.inside(expected)) {
      if (contains(start, c.points[x]) || !violates(claim, c.labels[x])) continue;
      bool excluded = false;
      for (std::size_t k = 0; k < forest.clauses.size(); ++k)
        excluded = excluded || (found.used_clauses[k] && !keeps(forest, forest.clauses[k], c.points[x]));
      CHECK(excluded, "the clauses used are enough for the cells that widening takes");
    }
  }
  CHECK(inflate(reused, forest, point, claim, box_of(c, start), {}, never_stop).used_clauses ==
            Flags(forest.clauses.size(), 0),
        "widening that asks nothing uses no clause");
  CHECK(delete_features(reused, forest, point, claim, Box::full(forest), {}, Flags(point.size(), 1), never_stop)
                .used_clauses == Flags(forest.clauses.size(), 0),
        "deletion that asks nothing uses no clause");
  ++counts.inflations;

  bool asks = false;
  for (const std::int32_t f : order) asks = asks || start[f] != c.full()[f];
  const Inflation none = inflate(reused, forest, point, claim, box_of(c, start), order, stop_after(0));
  CHECK(none.widest == !asks && none.tally.unknown == asks && allowed_of(c, none.box) == start,
        "a widening that may not start leaves the box");
  const Inflation part =
      inflate(reused, forest, point, claim, box_of(c, start), order, stop_after(random.between(0, 30)), kAnyWork,
              {random.between(0, 20), random.between(1, 5)});
  const Allowed wider = allowed_of(c, part.box);
  CHECK(entails(wider, claim), "a widening that was stopped still entails the claim");
  for (std::size_t f = 0; f < wider.size(); ++f)
    CHECK(std::includes(wider[f].begin(), wider[f].end(), start[f].begin(), start[f].end()) &&
              std::includes(expected[f].begin(), expected[f].end(), wider[f].begin(), wider[f].end()),
          "a widening that was stopped is on its way");
  CHECK(part.widest == (part.tally.unknown == 0) && part.tally.unknown <= 1, "only a stop leaves widening incomplete");
  CHECK(!part.widest || wider == expected, "a widening said to be complete is complete");
  counts.stopped_inflations += !part.widest;

  // With little work, another box than the canonical one may come out, but never a wrong one.
  reused.forget();
  const auto most_work = static_cast<std::uint64_t>(random.between(0, 2000));
  const Inflation bounded = inflate(reused, forest, point, claim, box_of(c, start), order, never_stop, most_work);
  const Allowed wide = allowed_of(c, bounded.box);
  CHECK(!bounded.stopped && bounded.tally.unknown == 0, "who runs out of work was not stopped");
  CHECK(entails(wide, claim), "a widening with little work entails the claim");
  for (std::size_t f = 0; f < wide.size(); ++f)
    CHECK(std::includes(wide[f].begin(), wide[f].end(), start[f].begin(), start[f].end()),
          "a widening with little work keeps what was there");
  for (const std::int32_t f : order) {
    for (Cell cell = 0; bounded.widest && cell < c.model.n_cells[f]; ++cell) {
      const bool number = c.model.ordered[f] || (c.model.is_gapped(f) && cell < c.model.n_cells[f] - 1);
      const bool beside = !number || std::any_of(wide[f].begin(), wide[f].end(), [&](Cell taken) {
        return std::abs(taken - cell) == 1 && (c.model.ordered[f] || taken < c.model.n_cells[f] - 1);
      });
      if (!beside || std::find(wide[f].begin(), wide[f].end(), cell) != wide[f].end()) continue;
      Allowed more = wide;
      more[f] = {cell};
      CHECK(!entails(more, claim), "what is said to be widest is, also with little work");
    }
  }
  reused.forget();
  CHECK(
      allowed_of(c, inflate(reused, forest, point, claim, box_of(c, start), order, never_stop, most_work).box) == wide,
      "the same work finds the same box");
  counts.bounded_inflations += !bounded.widest;
}

}  // namespace treeproof::testing
