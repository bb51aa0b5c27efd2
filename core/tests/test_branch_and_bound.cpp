// The plain engine, and what every answer must satisfy.
#include "../branch_and_bound.hpp"
#include "../table.hpp"
#include "checks.hpp"

namespace treeproof::testing {

// A refutation must stand by itself; an entailment must hold also without the restrictions that it did not use.
void check_outcome(const Case& c, const Allowed& allowed, Claim claim, const Outcome& outcome) {
  CHECK(outcome.status != Status::stopped, "a search that nobody stops decides");
  CHECK((outcome.status == Status::entailed) == holds(c, allowed, claim), "the status is that of enumeration");
  CHECK(c.model.band > 0 || !outcome.near_tie, "without a band nothing is near a tie");
  if (outcome.status == Status::refuted) {
    CHECK(contains(allowed, outcome.witness), "the witness lies in the box");
    const std::size_t x = c.index(outcome.witness);
    CHECK(outcome.label == c.labels[x], "the witness has the label it is said to have");
    CHECK(violates(claim, outcome.label), "the witness violates the claim");
    CHECK(outcome.near_tie || some_goal(c, x, claim, 1),
          "a witness that is not near a tie violates the claim by its sums");
    CHECK(c.model.n_classes > 2 || !outcome.near_tie || !some_goal(c, x, claim, 1),
          "between two classes, a witness whose sums violate the claim is not near a tie");
    return;
  }
  const Flags restricted = restricted_of(c, allowed);
  CHECK(is_subset(outcome.used, restricted), "only restrictions can be used");
  CHECK(holds(c, relaxed(c, allowed, outcome.used), claim), "the restrictions used are enough");
  const std::vector<std::size_t> inside = c.inside(allowed);
  const bool near =
      std::any_of(inside.begin(), inside.end(), [&](std::size_t x) { return some_goal(c, x, claim, -1); });
  CHECK(!near || outcome.near_tie, "an entailment is near a tie if sums alone do not show it at some point");
  counts.smaller_cores += outcome.used != restricted;
}

// Whether the winner of a pair takes the label from the loser at a point; where a score is cut, by its side of the cut.
bool takes_label(const Case& c, std::size_t x, Pair pair) {
  if (!c.model.sums.cut) return c.labels[x] == pair.winner;
  return pair.winner > pair.loser ? c.labels[x] >= pair.winner : c.labels[x] <= pair.winner;
}

void check_plain(Random& random, const Case& c) {
  for (int i = 0; i < 2; ++i) {
    const auto [allowed, claim] = random_query(random, c);
    const Box box = box_of(c, allowed);
    CHECK(claim.violated_by(claim.label) == violates(claim, claim.label), "a claim about its own label");
    CHECK(claim.violated_by(claim.label + 1) == violates(claim, claim.label + 1), "a claim about another label");
    check_outcome(c, allowed, claim, decide_plainly(c.forest, box, claim, never_stop));
    ++counts.plain_queries;

    const auto all = goals(c, claim);
    if (all.empty()) continue;
    const std::vector<Pair>& goal = random.pick(all);
    Outcome outcome;
    const Flags restricted = restricted_of(c, allowed);
    outcome.used.assign(restricted.size(), 0);
    const bool closed = close_plainly(c.forest, box, goal, claim, restricted, never_stop, outcome);
    bool won = false, maybe_won = false;
    for (const std::size_t x : c.inside(allowed)) {
      won = won || wins_all(c, x, goal, 1);
      maybe_won = maybe_won || (violates(claim, c.labels[x]) && wins_all(c, x, goal, -1));
    }
    CHECK(!closed || !won, "a goal that is closed is won nowhere");
    CHECK(closed || maybe_won, "a goal is closed if no point that may win it violates the claim");
    if (closed) {
      for (const std::size_t x : c.inside(relaxed(c, allowed, outcome.used)))
        CHECK(!std::all_of(goal.begin(), goal.end(), [&](Pair pair) { return takes_label(c, x, pair); }),
              "where a goal is closed, also without what was not used, the label is kept");
    } else {
      CHECK(outcome.status == Status::refuted && contains(allowed, outcome.witness),
            "a goal that is not closed has a witness");
      CHECK(violates(claim, c.labels[c.index(outcome.witness)]), "the witness violates the claim");
    }
    ++counts.plain_goals;

    outcome = decide_plainly(c.forest, box, claim, stop_after(random.between(0, 5)));
    if (outcome.status != Status::stopped) check_outcome(c, allowed, claim, outcome);
  }
}

// One class leads by as much as rounding can undo, by a little more or less; in the first cell it is far in front.
void check_edge_of_the_band() {
  for (const int winner : {0, 1, 2, 3})
    for (const int far : {0, 1})
      for (const std::int64_t lead : {0, 1, 2, 7, 8, 9, 10}) {
        Model model;
        model.vote = Vote::mean;
        model.n_classes = 2;
        model.n_cells = {2, 1};
        model.ordered = {1, 1};
        model.band = 8;
        model.trees = {stump(0, {true, false}, far, winner % 2)};
        model.trees[0][1].scores[far] = 100;
        model.trees[0][2].scores[winner % 2] = lead;
        for (TwinNode& node : model.trees[0]) {
          node.exact = winner < 2;  // then there is no band
          node.values.assign(node.scores.begin(), node.scores.end());
        }
        const Case c(std::move(model));
        const std::unique_ptr<const Table> table = Table::make(c.forest);
        for (const Allowed& allowed : {c.full(), Allowed{{0}, {0}}, Allowed{{1}, {0}}})
          for (const int label : {0, 1})
            for (const ClaimKind kind : {ClaimKind::stays, ClaimKind::never}) {
              const Claim claim{kind, label};
              const Box box = box_of(c, allowed);
              const Point home{0, 0};
              check_outcome(c, allowed, claim, Searcher(c.forest).decide(box, claim, home, never_stop));
              check_outcome(c, allowed, claim, decide_plainly(c.forest, box, claim, never_stop));
              check_outcome(c, allowed, claim, table->decide(box, claim, home));
            }
      }
}

}  // namespace treeproof::testing
