// Rules between features: a point that breaks one is no point of the space.
#include "../clauses.hpp"
#include "../search.hpp"
#include "checks.hpp"

namespace treeproof::testing {

bool keeps(const Forest& forest, const Clause& clause, const Point& point) {
  for (const Literal& literal : clause) {
    const int f = literal.feature;
    const Cell cell = point[f];
    const bool in_range = literal.low <= cell && cell <= literal.high;
    if (forest.gapped[f]    ? (cell == forest.n_cells[f] - 1 ? literal.missing : in_range)
        : forest.ordered[f] ? in_range
                            : (forest.literal_sets[literal.words + cell / 64] >> (cell % 64)) & 1U)
      return true;
  }
  return false;
}

// One to four clauses of one to three literals; perhaps no point keeps them all.
void add_clauses(Random& random, Forest& forest) {
  const int n = random.between(1, 4);
  for (int i = 0; i < n; ++i) {
    Clause clause;
    const int literals = random.between(1, 3);
    for (int j = 0; j < literals; ++j) {
      const int f = random.below(forest.n_features);
      const Cell last = forest.n_cells[f] - 1 - forest.gapped[f];
      Literal literal{f, 0, last, random.chance(50), forest.literal_sets.size()};
      if (last > 0) (random.chance(50) ? literal.low : literal.high) = random.between(1, last) - (literal.low == 0);
      if (literal.low == 0 && literal.high == last && last > 0) literal.high = last - 1;
      if (forest.gapped[f] && random.chance(20)) {  // numbers all alike
        literal.low = random.below(2);
        literal.high = literal.low == 0 ? last : 0;
      }
      for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w)
        forest.literal_sets.push_back(static_cast<Word>(random.below(1 << 16)));
      clause.push_back(literal);
    }
    forest.clauses.push_back(clause);
  }
}

// Whether one literal of the clause holds in the whole box.
bool is_idle(const Forest& forest, const Clause& clause, const Allowed& allowed) {
  return std::any_of(clause.begin(), clause.end(), [&](const Literal& literal) {
    const std::vector<Cell>& cells = allowed[literal.feature];
    Point point(allowed.size(), 0);
    return std::all_of(cells.begin(), cells.end(), [&](Cell cell) {
      point[literal.feature] = cell;
      return keeps(forest, {literal}, point);
    });
  });
}

// Rules between features: a point that breaks one is no point of the space.
void check_clauses(Random& random, const Case& c) {
  Forest forest = c.forest;
  add_clauses(random, forest);
  const auto holds_under = [&](const Allowed& allowed, Claim claim, const Flags& used) {
    for (const std::size_t x : c.inside(allowed)) {
      bool inside = true;
      for (std::size_t i = 0; i < forest.clauses.size(); ++i)
        inside = inside && (!used[i] || keeps(forest, forest.clauses[i], c.points[x]));
      if (inside && violates(claim, c.labels[x])) return false;
    }
    return true;
  };
  const Flags all(forest.clauses.size(), 1);
  const std::unique_ptr<const Table> table = Table::make(forest);
  Searcher searcher(forest), looking_up(forest, table.get());
  for (int i = 0; i < 3; ++i) {
    const auto [allowed, claim] = random_query(random, c);
    const Box box = box_of(c, allowed);
    const Point home = random_point(random, c.full());
    const Outcome looked_up = looking_up.decide(box, claim, home, never_stop);
    const Outcome listed = table->decide(box, claim, home);
    CHECK(looked_up.status == listed.status && looked_up.witness == listed.witness && looked_up.used == listed.used &&
              looked_up.used_clauses == listed.used_clauses && looked_up.near_tie == listed.near_tie,
          "where there is a table, it answers");
    for (const Outcome& outcome :
         {searcher.decide(box, claim, home, never_stop), looking_up.decide(box, claim, home, never_stop),
          decide_plainly(forest, box, claim, never_stop)}) {
      CHECK((outcome.status == Status::entailed) == holds_under(allowed, claim, all), "the status under clauses");
      if (outcome.status == Status::refuted) {
        CHECK(contains(allowed, outcome.witness) && violates(claim, c.labels[c.index(outcome.witness)]) &&
                  outcome.label == c.labels[c.index(outcome.witness)],
              "the witness refutes the claim");
        CHECK(std::all_of(forest.clauses.begin(), forest.clauses.end(),
                          [&](const Clause& clause) { return keeps(forest, clause, outcome.witness); }),
              "the witness keeps the clauses");
        continue;
      }
      CHECK(is_subset(outcome.used, restricted_of(c, allowed)), "only restrictions can be used");
      CHECK(holds_under(relaxed(c, allowed, outcome.used), claim, outcome.used_clauses),
            "the restrictions and clauses used are enough");
      for (std::size_t k = 0; k < forest.clauses.size(); ++k)
        CHECK(!outcome.used_clauses[k] || !is_idle(forest, forest.clauses[k], relaxed(c, allowed, outcome.used)),
              "a clause that holds everywhere, with the restrictions used, is not used");
    }
    ++counts.clause_queries;
    if (random.chance(15))
      check_record(c, forest, table.get(), allowed, claim, home, Searcher(forest).decide(box, claim, home, never_stop));
    counts.clauses_needed += holds_under(allowed, claim, all) && !holds(c, allowed, claim);
  }
  counts.tables += table != nullptr;
}

// All points have label 0. The first one breaks a clause; of the two sides of its first literal, only the one at which
// that is false has points that keep the clauses.
void check_both_sides_of_a_literal() {
  Model model;
  model.n_classes = 2;
  model.n_cells = {2, 2, 2};
  model.ordered = {1, 1, 1};
  model.trees = {stump(0, {true, false}, 0, 0)};
  const Case c(std::move(model));
  Forest forest = c.forest;
  const auto is = [](int f, Cell cell) { return Literal{f, cell, cell, false, 0}; };
  forest.clauses = {{is(0, 1), is(1, 1)}, {is(0, 0), is(2, 1)}, {is(0, 0), is(2, 0)}};
  const Claim claim{ClaimKind::never, 0};
  const Box box = Box::full(forest);
  for (const Outcome& outcome :
       {decide_plainly(forest, box, claim, never_stop), Searcher(forest).decide(box, claim, {0, 0, 0}, never_stop)}) {
    CHECK(outcome.status == Status::refuted, "there are points that keep the clauses");
    CHECK(outcome.witness[0] == 0 && outcome.witness[1] == 1, "these");
  }
}

// The second clause leaves cell 0 only, which breaks the first.
void check_clauses_that_leave_nothing() {
  Model model;
  model.n_classes = 2;
  model.n_cells = {3};
  model.ordered = {1};
  model.trees = {stump(0, {true, false, false}, 0, 0)};
  const Case c(std::move(model));
  Forest forest = c.forest;
  forest.clauses = {{{0, 1, 2, false, 0}, {0, 2, 2, false, 0}}, {{0, 0, 0, false, 0}}};
  const Claim claim{ClaimKind::never, 0};
  const Box box = Box::full(forest);
  CHECK(decide_plainly(forest, box, claim, never_stop).status == Status::entailed, "there is no point");
  const Outcome outcome = Searcher(forest).decide(box, claim, {0}, never_stop);
  CHECK(outcome.status == Status::entailed, "there is no point");
  check_record(c, forest, nullptr, c.full(), claim, {0}, outcome);
}

}  // namespace treeproof::testing
