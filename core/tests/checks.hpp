// What the tests of all techniques share: how a check fails, what was checked, and the twin's side of it. A test of one
// technique is in the file of its name; test_core.cpp runs them all.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "../residual.hpp"
#include "../search.hpp"
#include "generator.hpp"

namespace treeproof::testing {

inline std::uint64_t seed_of_case = 0;

[[noreturn]] inline void fail(const char* file, int line, const char* condition, const char* what) {
  std::fprintf(stderr, "%s:%d: seed %llu: %s\n  failed: %s\n", file, line,
               static_cast<unsigned long long>(seed_of_case), what, condition);
  std::exit(1);
}

#define CHECK(condition, what)                                    \
  do {                                                            \
    if (!(condition)) fail(__FILE__, __LINE__, #condition, what); \
  } while (false)

inline struct Counts {
  std::uint64_t cases = 0, mean_votes = 0, sums = 0, members = 0, whole_votes = 0, labels = 0, boxes = 0,
                scaled_values = 0, outliers = 0, finer_scales = 0, finer_losses = 0, finer_targets = 0,
                rounded_sums = 0, outlines = 0, outlines_stopped = 0, residuals = 0;
  std::uint64_t narrow_bands = 0, never_wins = 0, trees_put_back = 0, narrowed = 0, absorbed = 0, absorbed_within = 0;
  std::uint64_t bounds = 0, closings = 0, closed = 0, fixings = 0, empty_fixings = 0, local_searches = 0, trails = 0,
                moved_witnesses = 0, lanes = 0, fewer_in_lanes = 0, lanes_taken = 0, parts = 0, parts_closed = 0,
                parts_left = 0, parts_split = 0;
  std::uint64_t plain_goals = 0, plain_queries = 0;
  std::uint64_t queries = 0, entailed = 0, refuted = 0, stopped = 0, split = 0, exact_queries = 0, near_ties = 0,
                smaller_cores = 0;
  std::uint64_t clause_queries = 0, clauses_needed = 0, tables = 0, records = 0, record_parts = 0;
  std::uint64_t explanations = 0, stopped_explanations = 0, changes = 0, stopped_changes = 0;
  std::uint64_t hittings = 0, hitting_sets = 0, stopped_hittings = 0;
  std::uint64_t sweeps = 0, sweep_witnesses = 0;
  std::uint64_t inflations = 0, retaken_inflations = 0, stopped_inflations = 0, bounded_inflations = 0;

  void print() const {
    const std::pair<const char*, std::uint64_t> all[] = {
        {"cases", cases},
        {"of them mean votes", mean_votes},
        {"of them sums", sums},
        {"of them with members", members},
        {"of them with pure leaves as votes", whole_votes},
        {"labels", labels},
        {"boxes", boxes},
        {"scaled values", scaled_values},
        {"outlines of queries", outlines},
        {"outlines that had to stop", outlines_stopped},
        {"trees put back as they were", trees_put_back},
        {"residual forests made from the one around", narrowed},
        {"residual forests with absorbed trees", absorbed},
        {"residual forests with trees absorbed in a smaller box", absorbed_within},
        {"scales that cut values off", outliers},
        {"scales of values", finer_scales},
        {"sums of values below their target", finer_losses},
        {"their targets with a band of the box", finer_targets},
        {"pairs of sums that are rounded", rounded_sums},
        {"residual forests", residuals},
        {"bands narrower than the forest's", narrow_bands},
        {"pairs lost by the model's own sums", never_wins},
        {"Lagrangian bounds", bounds},
        {"Lagrangian bounds of eight parts", lanes},
        {"of them below that of the whole box", fewer_in_lanes},
        {"lanes that went on with another part", lanes_taken},
        {"boxes closed part by part", parts},
        {"parts that were closed", parts_closed},
        {"parts that stayed open", parts_left},
        {"boxes of which a part was split again", parts_split},
        {"attempts to close a box", closings},
        {"boxes closed by exact leaves", closed},
        {"fixings", fixings},
        {"fixings to nothing", empty_fixings},
        {"local searches", local_searches},
        {"sweeps", sweeps},
        {"sweeps with a witness", sweep_witnesses},
        {"trails of points", trails},
        {"witnesses moved into the next box", moved_witnesses},
        {"plain goals", plain_goals},
        {"plain queries", plain_queries},
        {"queries", queries},
        {"queries entailed", entailed},
        {"queries refuted", refuted},
        {"queries stopped", stopped},
        {"queries that split boxes", split},
        {"queries about sums to be reached", exact_queries},
        {"queries with near-ties", near_ties},
        {"cores below all restrictions", smaller_cores},
        {"queries with clauses", clause_queries},
        {"queries that need clauses", clauses_needed},
        {"tables", tables},
        {"records of proofs", records},
        {"parts of boxes in records", record_parts},
        {"explanations", explanations},
        {"explanations stopped", stopped_explanations},
        {"changes", changes},
        {"changes stopped", stopped_changes},
        {"searches for hitting sets", hittings},
        {"hitting sets found", hitting_sets},
        {"searches for hitting sets stopped", stopped_hittings},
        {"inflations", inflations},
        {"inflations with wrong guesses", retaken_inflations},
        {"inflations stopped", stopped_inflations},
        {"inflations that ran out of work", bounded_inflations},
    };
    for (const auto& [name, count] : all) std::printf("%s: %llu\n", name, static_cast<unsigned long long>(count));
  }
} counts;

inline Flags restricted_of(const Case& c, const Allowed& allowed) {
  Flags restricted;
  for (std::size_t f = 0; f < allowed.size(); ++f)
    restricted.push_back(allowed[f].size() < static_cast<std::size_t>(c.model.n_cells[f]));
  return restricted;
}

// The box without the restrictions of features that are not in `keep`.
inline Allowed relaxed(const Case& c, const Allowed& allowed, const Flags& keep) {
  Allowed wider = c.full();
  for (std::size_t f = 0; f < allowed.size(); ++f)
    if (keep[f]) wider[f] = allowed[f];
  return wider;
}

inline bool contains(const Allowed& allowed, const Point& point) {
  if (point.size() != allowed.size()) return false;
  for (std::size_t f = 0; f < point.size(); ++f)
    if (!std::binary_search(allowed[f].begin(), allowed[f].end(), point[f])) return false;
  return true;
}

inline bool is_subset(const Flags& inner, const Flags& outer) {
  for (std::size_t f = 0; f < inner.size(); ++f)
    if (inner[f] && !outer[f]) return false;
  return true;
}

inline std::int64_t difference(const Case& c, std::size_t x, Pair pair) {
  return c.sums[x][pair.winner] - c.sums[x][pair.loser];
}

inline std::vector<std::vector<Pair>> goals(const Case& c, Claim claim, bool neighbours = false) {
  std::vector<std::vector<Pair>> found;
  if (claim.kind == ClaimKind::never) found.emplace_back();
  for (int k = 0; k < c.model.n_classes; ++k) {
    if (k == claim.label) continue;
    if (neighbours && c.model.sums.cut && std::abs(k - claim.label) > 1) continue;
    if (claim.kind == ClaimKind::stays) {
      found.push_back({{k, claim.label}});
    } else {
      found.front().push_back({claim.label, k});
    }
  }
  return found;
}

// What a finer scale makes of a point, if there is one: a sum of values.
inline std::int64_t finer_sum(const Case& c, std::size_t x, Pair pair) {
  std::int64_t sum = 0;
  for (const std::int32_t leaf : c.forest.leaves(c.points[x])) sum += c.forest.finer->value(c.forest, leaf, pair);
  return sum;
}

// Whether sums of scores show that the pairs are all won (`sign` 1), or may all be won (`sign` -1), at a point; values
// of a finer scale may rule out what scores allow.
inline bool wins_all(const Case& c, std::size_t x, const std::vector<Pair>& pairs, int sign) {
  return std::all_of(pairs.begin(), pairs.end(), [&](Pair pair) {
    if (sign < 0 && c.forest.finer && std::abs(pair.winner - pair.loser) == 1 &&
        finer_sum(c, x, pair) < c.forest.finer->target(c.forest, pair))
      return false;
    return difference(c, x, pair) >= c.model.least(pair.winner, pair.loser) + sign * c.bands[x];
  });
}

inline bool some_goal(const Case& c, std::size_t x, Claim claim, int sign) {
  const auto all = goals(c, claim, sign < 0);  // with cuts, neighbours alone decide whether a claim may be violated
  return std::any_of(all.begin(), all.end(), [&](const auto& pairs) { return wins_all(c, x, pairs, sign); });
}

inline Pair random_pair(Random& random, const Case& c) {
  const int winner = random.below(c.model.n_classes);
  const int loser = (winner + 1 + random.below(c.model.n_classes - 1)) % c.model.n_classes;
  return {winner, loser};
}

inline const Poll never_stop = [] { return false; };

// Answers false `polls` times, then true, and fails when it is asked again: Ctrl-C is told once.
inline Poll stop_after(int polls) {
  return [polls]() mutable {
    CHECK(polls >= 0, "a search that was told to stop stops");
    return polls-- == 0;
  };
}

// A tree of one split between votes for two classes.
inline Tree stump(int feature, std::vector<bool> goes_left, int left_vote, int right_vote) {
  const auto leaf = [](int vote) {
    TwinNode node;
    node.values = {vote == 0 ? 1.0 : 0.0, vote == 1 ? 1.0 : 0.0};
    node.scores = {vote == 0, vote == 1};
    return node;
  };
  TwinNode root;
  root.feature = feature;
  root.goes_left = std::move(goes_left);
  root.left = 1;
  root.right = 2;
  root.values = {0.0, 0.0};
  root.scores = {0, 0};
  return {root, leaf(left_vote), leaf(right_vote)};
}

// A tree of one leaf.
inline Tree constant(int vote, int n_classes) {
  TwinNode leaf;
  leaf.values.assign(n_classes, 0.0);
  leaf.scores.assign(n_classes, 0);
  leaf.values[vote] = 1.0;
  leaf.scores[vote] = 1;
  return {leaf};
}

// A residual forest with its box and the value that the twin gives every point of it.
struct Contest {
  Allowed allowed;
  Box box;
  Pair pair;
  Residual residual;
  std::vector<std::size_t> inside;
  std::vector<std::int64_t> values;  // per point inside
  Flags chained;  // per feature: of its splits one side implies others, where the residual forest was built
  Flags restricted, used;  // per feature: the query restricts it, what it is made from relies on that
};

// What makes residual forests, one after the other; the outlines are those of a query and of boxes within its box.
struct Workshop {
  explicit Workshop(const Forest& forest) : outliner(forest), builder(forest) {}
  Outliner outliner;
  Outline outline, inner[2];
  Allowed before;  // a box that later ones are made from; none at first
  ResidualBuilder builder;
};

// The twin of Prices: those of a gate are at the node that stands for it, and 0 at others.
struct PlainPrices {
  std::vector<std::int32_t> alpha, beta;  // per node of the forest

  explicit PlainPrices(const Case& c) : alpha(c.twins.size(), 0), beta(c.twins.size(), 0) {}
  PlainPrices(const Case& c, const Prices& prices) {
    for (std::size_t n = 0; n < c.twins.size(); ++n) {
      const std::int32_t gate = c.forest.gate[n];
      const bool stands = gate >= 0 && c.forest.gate_node[gate] == static_cast<std::int32_t>(n);
      alpha.push_back(stands ? prices.alpha(gate) : 0);
      beta.push_back(stands ? prices.beta(gate) : 0);
    }
  }
  bool operator==(const PlainPrices&) const = default;
};

// test_forest.cpp
void check_forest(const Case& c);
void check_no_trees();
void check_many_classes();
template <typename Number>
void check_softmax(Random& random);

// test_box.cpp
void check_box(Random& random, const Case& c);

// test_rounding.cpp
void check_rounding(Random& random, const Case& c);
void check_rounding_of_quotients();
void check_rounding_before_softmax();

// test_scale.cpp
bool cuts_off(const Case& c);
bool covers(std::int64_t sum, std::int64_t exact, int shift);
std::int64_t scaled_sum(const Case& c, std::size_t x, Pair pair);
bool all_exact(const Case& c, std::size_t x);
void check_scale(Random& random, const Case& c);
void regression_target_beyond_all_scores(std::int64_t one);
void check_huge_leaves_reach_far_cuts();
void check_huge_scores_reach_far_targets();

// test_outline.cpp
void check_outline(const Case& c, const Outline& outline, const Box& box, const std::vector<std::size_t>& inside);
void check_stopped_outline(const Case& c, const Box& box, const std::vector<std::size_t>& inside);

// test_residual.cpp
struct Walk;
std::int64_t residual_value(const Case& c, const Residual& r, const Point& point, Walk* walk = nullptr);
std::int64_t absorbed_value(const Case& c, const Residual& r, std::size_t f, Cell cell);
Residual residual_of(const Case& c, const Box& box, Pair pair, bool absorbs = false);
void build(Random& random, const Case& c, Workshop& workshop, Contest& contest);
void narrow(Random& random, const Case& c, Workshop& workshop, Contest& contest);

Allowed inside_of(Random& random, const Case& c, const Allowed& around);

// test_lanes.cpp
void check_lanes(Random& random, const Case& c, const Contest& contest);

// test_parts.cpp
void check_parts(Random& random, const Case& c, Parts& parts, const Contest& contest);

// test_lagrangian.cpp
void check_lagrangian(Random& random, const Case& c, const Contest& contest);
void check_largest_prices();
void check_prices_settle_a_contradiction();

// test_local_search.cpp
void check_local_search(Random& random, const Case& c, LocalSearch& search, const Contest& contest);
void regression_gain_of_the_next_feature();

// test_trail.cpp
void check_trail(Random& random, const Case& c);

// test_branch_and_bound.cpp
void check_outcome(const Case& c, const Allowed& allowed, Claim claim, const Outcome& outcome);
void check_plain(Random& random, const Case& c);
bool takes_label(const Case& c, std::size_t x, Pair pair);
void check_edge_of_the_band();

// test_record.cpp
void check_record(const Case& c, const Forest& forest, const Table* table, const Allowed& allowed, Claim claim,
                  const Point& home, const Outcome& expected);

// test_search.cpp
void check_search(Random& random, const Case& c, Searcher& reused);
void check_exact_votes(Random& random, const Case& like);
void check_many_queries(std::uint64_t seed);
void check_hard_queries();
void check_moved_witnesses(Random& random, const Case& c);
void regression_core_of_named_values();
void regression_aim_where_leaves_need_the_band();
void regression_closed_by_a_narrow_band_later();
void check_a_witness_ends_the_search();

// test_clauses.cpp
bool keeps(const Forest& forest, const Clause& clause, const Point& point);
void add_clauses(Random& random, Forest& forest);
void check_clauses(Random& random, const Case& c);
void check_both_sides_of_a_literal();
void check_clauses_that_leave_nothing();

// test_table.cpp
void check_limits_of_tables();

// test_tally.cpp
void check_tally();

// test_deletion.cpp
void check_deletion(Random& random, const Case& c, Searcher& reused);
void check_deletion_remembers();
void check_change(Random& random, const Case& c, Searcher& reused);

// test_hitting.cpp
void check_hitting(Random& random);

// test_inflation.cpp
void check_sweep(Random& random, const Case& c);
void check_inflation(Random& random, const Case& c);

}  // namespace treeproof::testing
