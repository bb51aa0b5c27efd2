// Checks every layer of the core by itself against enumeration, on random small forests.
//
//   test_core [--seed S] [--cases N] [--seconds T]
//
// Case i of a run has seed S + i. A failure prints the seed of its case; `--seed <that> --cases 1` repeats it alone.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../deletion.hpp"
#include "../inflation.hpp"
#include "../lagrangian.hpp"
#include "../local_search.hpp"
#include "../residual.hpp"
#include "../scale.hpp"
#include "../search.hpp"
#include "generator.hpp"

namespace treeproof::testing {
namespace {

std::uint64_t seed_of_case = 0;

[[noreturn]] void fail(const char* file, int line, const char* condition, const char* what) {
  std::fprintf(stderr, "%s:%d: seed %llu: %s\n  failed: %s\n", file, line,
               static_cast<unsigned long long>(seed_of_case), what, condition);
  std::exit(1);
}

#define CHECK(condition, what)                                    \
  do {                                                            \
    if (!(condition)) fail(__FILE__, __LINE__, #condition, what); \
  } while (false)

struct Counts {
  std::uint64_t cases = 0, mean_votes = 0, sums = 0, whole_votes = 0, labels = 0, boxes = 0, scaled_values = 0, residuals = 0;
  std::uint64_t bounds = 0, closings = 0, closed = 0, fixings = 0, empty_fixings = 0, local_searches = 0;
  std::uint64_t plain_goals = 0, plain_queries = 0;
  std::uint64_t queries = 0, entailed = 0, refuted = 0, stopped = 0, split = 0, near_ties = 0, smaller_cores = 0;
  std::uint64_t clause_queries = 0, clauses_needed = 0, tables = 0, records = 0, record_parts = 0;
  std::uint64_t explanations = 0, stopped_explanations = 0;
  std::uint64_t inflations = 0, retaken_inflations = 0, stopped_inflations = 0;

  void print() const {
    const std::pair<const char*, std::uint64_t> all[] = {
        {"cases", cases},
        {"of them mean votes", mean_votes},
        {"of them sums", sums},
        {"of them with pure leaves as votes", whole_votes},
        {"labels", labels},
        {"boxes", boxes},
        {"scaled values", scaled_values},
        {"residual forests", residuals},
        {"Lagrangian bounds", bounds},
        {"attempts to close a box", closings},
        {"boxes closed by exact leaves", closed},
        {"fixings", fixings},
        {"fixings to nothing", empty_fixings},
        {"local searches", local_searches},
        {"plain goals", plain_goals},
        {"plain queries", plain_queries},
        {"queries", queries},
        {"queries entailed", entailed},
        {"queries refuted", refuted},
        {"queries stopped", stopped},
        {"queries that split boxes", split},
        {"queries with near-ties", near_ties},
        {"cores below all restrictions", smaller_cores},
        {"queries with clauses", clause_queries},
        {"queries that need clauses", clauses_needed},
        {"tables", tables},
        {"records of proofs", records},
        {"parts of boxes in records", record_parts},
        {"explanations", explanations},
        {"explanations stopped", stopped_explanations},
        {"inflations", inflations},
        {"inflations with wrong guesses", retaken_inflations},
        {"inflations stopped", stopped_inflations},
    };
    for (const auto& [name, count] : all) std::printf("%s: %llu\n", name, static_cast<unsigned long long>(count));
  }
} counts;

Flags restricted_of(const Case& c, const Allowed& allowed) {
  Flags restricted;
  for (std::size_t f = 0; f < allowed.size(); ++f)
    restricted.push_back(allowed[f].size() < static_cast<std::size_t>(c.model.n_cells[f]));
  return restricted;
}

// The box without the restrictions of features that are not in `keep`.
Allowed relaxed(const Case& c, const Allowed& allowed, const Flags& keep) {
  Allowed wider = c.full();
  for (std::size_t f = 0; f < allowed.size(); ++f)
    if (keep[f]) wider[f] = allowed[f];
  return wider;
}

bool contains(const Allowed& allowed, const Point& point) {
  if (point.size() != allowed.size()) return false;
  for (std::size_t f = 0; f < point.size(); ++f)
    if (!std::binary_search(allowed[f].begin(), allowed[f].end(), point[f])) return false;
  return true;
}

bool is_subset(const Flags& inner, const Flags& outer) {
  for (std::size_t f = 0; f < inner.size(); ++f)
    if (inner[f] && !outer[f]) return false;
  return true;
}

std::int64_t difference(const Case& c, std::size_t x, Pair pair) {
  return c.sums[x][pair.winner] - c.sums[x][pair.loser];
}

std::vector<std::vector<Pair>> goals(const Case& c, Claim claim) {
  std::vector<std::vector<Pair>> found;
  if (claim.kind == ClaimKind::never) found.emplace_back();
  for (int k = 0; k < c.model.n_classes; ++k) {
    if (k == claim.label) continue;
    if (claim.kind == ClaimKind::stays) {
      found.push_back({{k, claim.label}});
    } else {
      found.front().push_back({claim.label, k});
    }
  }
  return found;
}

// Whether sums of scores show that the pairs are all won (`sign` 1), or may all be won (`sign` -1), at a point.
bool wins_all(const Case& c, std::size_t x, const std::vector<Pair>& pairs, int sign) {
  return std::all_of(pairs.begin(), pairs.end(), [&](Pair pair) {
    return difference(c, x, pair) >= c.model.least(pair.winner, pair.loser) + sign * c.bands[x];
  });
}

bool some_goal(const Case& c, std::size_t x, Claim claim, int sign) {
  const auto all = goals(c, claim);
  return std::any_of(all.begin(), all.end(), [&](const auto& pairs) { return wins_all(c, x, pairs, sign); });
}

Pair random_pair(Random& random, const Case& c) {
  const int winner = random.below(c.model.n_classes);
  const int loser = (winner + 1 + random.below(c.model.n_classes - 1)) % c.model.n_classes;
  return {winner, loser};
}

const Poll never_stop = [] { return false; };

// Answers false `polls` times, then true, and fails when it is asked again: Ctrl-C is told once.
Poll stop_after(int polls) {
  return [polls]() mutable {
    CHECK(polls >= 0, "a search that was told to stop stops");
    return polls-- == 0;
  };
}

void check_forest(const Case& c) {
  for (std::size_t x = 0; x < c.points.size(); ++x) {
    CHECK(c.forest.label(c.points[x]) == c.labels[x], "the label at a point is the twin's");
    CHECK(c.forest.total_scores(c.points[x]) == c.sums[x], "the sums of scores at a point are the twin's");
    // Not of the core: what the forest's scores and band promise to all that follows.
    for (int k = 0; k < c.model.n_classes; ++k) {
      if (k == c.labels[x]) continue;
      const std::int64_t lead = difference(c, x, {c.labels[x], k});
      CHECK(lead >= c.model.least(c.labels[x], k) - c.bands[x], "the label may win by its sums of scores");
      CHECK(-lead < c.model.least(k, c.labels[x]) + c.bands[x], "no other class wins by its sums of scores");
    }
    ++counts.labels;
  }
  for (std::size_t n = 0; n < c.twins.size(); ++n)
    for (std::size_t cell = 0; cell < c.twins[n]->goes_left.size(); ++cell)
      CHECK(c.forest.goes_left(static_cast<std::int32_t>(n), static_cast<Cell>(cell)) == c.twins[n]->goes_left[cell],
            "a cell goes to the twin's side");
  CHECK(c.forest.words_begin[0] == 0, "the sets of a box start with its first word");
  for (std::size_t f = 0; f < c.model.n_cells.size(); ++f) {
    const std::size_t words = c.model.ordered[f] ? 0 : (c.model.n_cells[f] + 63) / 64;
    CHECK(c.forest.words_begin[f + 1] - c.forest.words_begin[f] == words, "a set has a bit for every value");
  }
  std::vector<int> level(c.twins.size(), 1);
  for (std::size_t n = 0; n < level.size(); ++n)
    if (c.forest.feature[n] >= 0) level[c.forest.left[n]] = level[c.forest.right[n]] = level[n] + 1;
  CHECK(c.forest.depth == *std::max_element(level.begin(), level.end()), "the depth is that of the longest path");
  for (int k = 0; k < c.model.n_classes; ++k)
    for (int j = 0; j < c.model.n_classes; ++j)
      CHECK(k == j || c.forest.least(k, j) == c.model.least(k, j), "ties go to the first class, or as starts and cuts say");
}

void check_box(Random& random, const Case& c) {
  const Forest& forest = c.forest;
  CHECK(allowed_of(c, Box::full(forest)) == c.full(), "the full box has all cells");
  const Allowed allowed = random_box(random, c);
  Box box = box_of(c, allowed);
  const Flags restricted = restricted_of(c, allowed);
  Point least;
  for (int f = 0; f < forest.n_features; ++f) {
    CHECK(box.is_full(forest, f) == !restricted[f], "a feature is full iff all its cells are allowed");
    least.push_back(allowed[f].front());
  }
  CHECK(box.first_point(forest) == least, "the first point has the least cells");
  for (std::size_t n = 0; n < c.twins.size(); ++n) {
    const int f = c.twins[n]->feature;
    if (f < 0) continue;
    Allowed left = allowed, right = allowed;
    std::erase_if(left[f], [&](Cell cell) { return !c.twins[n]->goes_left[cell]; });
    std::erase_if(right[f], [&](Cell cell) { return c.twins[n]->goes_left[cell]; });
    const auto node = static_cast<std::int32_t>(n);
    const Side side = right[f].empty() ? Side::left : left[f].empty() ? Side::right : Side::both;
    CHECK(box.side(forest, node) == side, "the sides that the box reaches");
    if (side != Side::both) continue;
    Box part = box;
    part.restrict(forest, node, Side::left);
    CHECK(allowed_of(c, part) == left, "restricting to the left keeps the cells that go left");
    part = box;
    part.restrict(forest, node, Side::right);
    CHECK(allowed_of(c, part) == right, "restricting to the right keeps the cells that go right");
  }
  Allowed changed = allowed;
  for (int i = 0; i < 3; ++i) {
    const int f = random.below(forest.n_features);
    const Cell cell = random.below(c.model.n_cells[f]);
    if (random.chance(50)) {
      box.fix(forest, f, cell);
      changed[f] = {cell};
      CHECK(allowed_of(c, box) == changed, "fixing a feature leaves one cell");
    } else {
      box.free(forest, f);
      changed[f] = c.full()[f];
      CHECK(allowed_of(c, box) == changed, "freeing a feature allows all its cells");
    }
  }
  ++counts.boxes;
}

// The power of two that scores are divided by, told from the scaled value of one.
int shift_of(const Case& c) {
  std::int64_t largest = 1;
  for (const TwinNode* node : c.twins)
    for (const std::int64_t score : node->scores) largest = std::max(largest, std::abs(score));
  const int bit = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(largest))) - 1;
  const auto scaled = static_cast<std::uint64_t>(c.forest.scale.value(std::int64_t{1} << bit));
  CHECK(std::has_single_bit(scaled), "a power of two stays one");
  CHECK(scaled >= 1U << (Scale::kBits - 1) && scaled <= 1U << Scale::kBits, "the largest score becomes about 2^kBits");
  return bit - std::countr_zero(scaled);
}

// Whether sum * 2^shift >= exact, for a scaled sum and an exact one.
bool covers(std::int64_t sum, std::int64_t exact, int shift) {
  return shift > 0 ? sum << shift >= exact : sum >= exact << -shift;
}

std::int64_t scaled_sum(const Case& c, std::size_t x, Pair pair) {
  std::int64_t sum = 0;
  for (const TwinNode* leaf : c.leaves[x])
    sum += c.forest.scale.value(leaf->scores[pair.winner] - leaf->scores[pair.loser]);
  return sum;
}

bool all_exact(const Case& c, std::size_t x) {
  return std::all_of(c.leaves[x].begin(), c.leaves[x].end(), [](const TwinNode* leaf) { return leaf->exact; });
}

constexpr std::int64_t kFar = std::int64_t{1} << 40;  // no sum of scores that are multiplied is so large

void check_scale(Random& random, const Case& c) {
  if (c.model.n_classes < 2) return;
  const int shift = shift_of(c);
  const auto check_value = [&](std::int64_t exact) {
    const std::int64_t value = c.forest.scale.value(exact);
    CHECK(covers(value, exact, shift), "a scaled value is at least the exact one");
    CHECK(!covers(value - 1, exact, shift), "a scaled value is the least integer above the exact one");
    ++counts.scaled_values;
  };
  for (int i = 0; i < 3; ++i) {
    const Pair pair = random_pair(random, c);
    for (const TwinNode* node : c.twins) check_value(node->scores[pair.winner] - node->scores[pair.loser]);
    const std::int64_t target = c.forest.scale.target(c.forest, pair);
    const std::int64_t exact_target = c.forest.scale.exact_target(c.forest, pair);
    CHECK(target <= exact_target, "the target with a band is not larger");
    const std::int64_t least = c.model.least(pair.winner, pair.loser);
    for (std::size_t x = 0; x < c.points.size(); ++x) {
      const std::int64_t its_target = all_exact(c, x) ? exact_target : target;
      const bool open = scaled_sum(c, x, pair) >= its_target;
      const std::int64_t exact = difference(c, x, pair);
      CHECK(open || exact < least - c.bands[x], "a scaled sum below the target loses the pair, outside the band");
      CHECK(open || c.labels[x] != pair.winner, "a scaled sum below the target does not belong to a winner");
      const bool whole_votes = all_exact(c, x) && c.model.unit >> std::max(shift, 0) > 0;  // powers of two
      CHECK(!open || (shift > 0 && !whole_votes) || exact >= least - c.bands[x],
            "where scaling is exact, so is the target");
    }
    // Between two classes, the votes have the parity of the number of trees.
    const bool odd = (least + static_cast<std::int64_t>(c.model.trees.size())) % 2 != 0;
    const std::int64_t votes = least + (c.model.n_classes == 2 && odd);
    const std::int64_t reachable = (c.model.vote == Vote::majority ? votes : least) - c.model.band;
    const std::int64_t exact_reachable = c.model.vote == Vote::majority ? votes
                                         : c.model.unit != 0            ? votes * c.model.unit
                                                                        : least;
    if (shift <= 0 && std::max(std::abs(reachable), std::abs(exact_reachable)) > kFar) continue;  // all are alike there
    CHECK(covers(target, reachable, shift) && !covers(target - 1, reachable, shift),
          "the target is the least integer above the exact one");
    CHECK(covers(exact_target, exact_reachable, shift) && !covers(exact_target - 1, exact_reachable, shift),
          "the target of exact leaves is the least integer above the exact one");
  }
  const std::int64_t unit = shift > 0 ? std::int64_t{1} << shift : 1;
  for (const std::int64_t exact :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, unit, unit - 1, unit + 1, -unit, 1 - unit, -unit - 1})
    check_value(exact);
}

// What a walk of points through a residual forest meets.
struct Walk {
  Flags went_left, went_right;  // per node
  bool inexact = false;         // the last point reached a value that needs the band
};

// Walks a residual forest with the twin's splits.
std::int64_t residual_value(const Case& c, const Residual& r, const Point& point, Walk* walk = nullptr) {
  std::int64_t sum = r.offset;
  if (walk != nullptr) walk->inexact = r.offset_inexact;
  for (std::int32_t at : r.roots) {
    while (at >= r.n_constants()) {
      const std::int32_t n = at - r.n_constants();
      const TwinNode& twin = *c.twins[r.origin[n]];
      const bool left = twin.goes_left[point[twin.feature]];
      if (walk != nullptr) (left ? walk->went_left : walk->went_right)[n] = 1;
      at = left ? r.left[n] : r.right[n];
    }
    sum += r.constants[at];
    if (walk != nullptr) walk->inexact = walk->inexact || r.inexact[at];
  }
  return sum;
}

void check_shape(const Case& c, const Residual& r, const Allowed& allowed) {
  const std::int32_t n_constants = r.n_constants(), all = n_constants + r.n_nodes();
  for (std::int32_t n = 0; n < r.n_nodes(); ++n)
    for (const std::int32_t child : {r.left[n], r.right[n]})
      CHECK(child >= 0 && child < all && (child < n_constants || child > n_constants + n),
            "children are constants or later nodes");
  for (const std::int32_t root : r.roots) CHECK(root >= n_constants && root < all, "a tree that is left has a node");
  CHECK(r.slot_begin.size() == r.features.size() + 1 &&
            r.slot_begin.back() == static_cast<std::int32_t>(r.slot_node.size()),
        "slot_begin has one entry more than features");
  for (std::size_t i = 0; i < r.features.size(); ++i) {
    const std::int32_t f = r.features[i];
    CHECK(i == 0 || r.features[i - 1] < f, "features ascend");
    CHECK(r.slot_begin[i] < r.slot_begin[i + 1], "a feature that occurs has splits");
    for (std::int32_t s = r.slot_begin[i]; s < r.slot_begin[i + 1]; ++s) {
      const TwinNode& twin = *c.twins[r.slot_node[s]];
      CHECK(twin.feature == f, "splits are sorted by feature");
      CHECK(!c.model.ordered[f] || s == r.slot_begin[i] ||
                c.forest.cut[r.slot_node[s - 1]] < c.forest.cut[r.slot_node[s]],
            "splits of an ordered feature ascend");
      bool left = false, right = false;
      for (const Cell cell : allowed[f]) (twin.goes_left[cell] ? left : right) = true;
      CHECK(left && right, "a split that is left is open in the box");
    }
  }
  for (std::int32_t n = 0; n < r.n_nodes(); ++n) {
    const TwinNode &own = *c.twins[r.origin[n]], &shared = *c.twins[r.slot_node[r.slot[n]]];
    CHECK(own.feature == shared.feature && own.goes_left == shared.goes_left, "nodes of one slot make the same split");
  }
}

// A residual forest with its box and the value that the twin gives every point of it.
struct Contest {
  Allowed allowed;
  Box box;
  Pair pair;
  Residual residual;
  std::vector<std::size_t> inside;
  std::vector<std::int64_t> values;  // per point inside
};

void build(Random& random, const Case& c, ResidualBuilder& builder, Contest& contest) {
  contest.allowed = random_box(random, c, random.between(20, 90));
  contest.box = box_of(c, contest.allowed);
  contest.pair = random_pair(random, c);
  const Flags restricted = restricted_of(c, contest.allowed);
  Flags used(restricted.size(), 0);
  const Residual& r = contest.residual;
  builder.build(contest.residual, contest.box, contest.pair, c.forest.scale, restricted, used);
  check_shape(c, r, contest.allowed);
  CHECK(is_subset(used, restricted), "only restrictions can be used");
  const int shift = shift_of(c);
  contest.inside = c.inside(contest.allowed);
  contest.values.clear();
  Walk walk{Flags(r.left.size()), Flags(r.left.size())};
  const bool some_inexact = c.model.band > 0 && std::any_of(contest.inside.begin(), contest.inside.end(),
                                                            [&](std::size_t x) { return !all_exact(c, x); });
  for (const std::size_t x : contest.inside) {
    const std::int64_t value = residual_value(c, r, c.points[x], &walk);
    contest.values.push_back(value);
    CHECK(walk.inexact || c.model.band == 0 || all_exact(c, x), "a residual forest knows which leaves need the band");
    CHECK(!walk.inexact || some_inexact, "no leaf needs the band where the box reaches exact leaves only");
    CHECK(value == scaled_sum(c, x, contest.pair), "the residual forest is worth what the forest is");
    CHECK(covers(value, difference(c, x, contest.pair), shift),
          "the residual forest is worth at least the exact difference");
  }
  for (std::size_t n = 0; n < r.left.size(); ++n)
    CHECK(walk.went_left[n] && walk.went_right[n], "every node that is left goes both ways in the box");
  for (const std::size_t x : c.inside(relaxed(c, contest.allowed, used)))
    CHECK(residual_value(c, r, c.points[x]) == scaled_sum(c, x, contest.pair),
          "restrictions that were not used do not change the residual forest");
  ++counts.residuals;
}

// The twin of Prices.
struct PlainPrices {
  std::vector<std::int32_t> alpha, beta;  // per node of the forest

  explicit PlainPrices(const Case& c) : alpha(c.twins.size(), 0), beta(c.twins.size(), 0) {}
  PlainPrices(const Case& c, const Prices& prices) {
    for (std::size_t n = 0; n < c.twins.size(); ++n) {
      alpha.push_back(prices.alpha(static_cast<std::int32_t>(n)));
      beta.push_back(prices.beta(static_cast<std::int32_t>(n)));
    }
  }
  bool operator==(const PlainPrices&) const = default;
};

// What a cell earns at all nodes of its feature.
std::int64_t earning(const Case& c, const Residual& r, std::size_t f, Cell cell, const PlainPrices& prices) {
  std::int64_t sum = 0;
  for (const std::int32_t node : r.origin)
    if (c.twins[node]->feature == static_cast<int>(f))
      sum += c.twins[node]->goes_left[cell] ? prices.alpha[node] : prices.beta[node];
  return sum;
}

std::int64_t best_path(const Residual& r, std::int32_t at, const PlainPrices& prices) {
  if (at < r.n_constants()) return r.constants[at];
  const std::int32_t n = at - r.n_constants(), node = r.origin[n];
  return std::max(best_path(r, r.left[n], prices) - prices.alpha[node],
                  best_path(r, r.right[n], prices) - prices.beta[node]);
}

// The bound by its definition.
std::int64_t bound_of(const Case& c, const Contest& contest, const PlainPrices& prices) {
  const Residual& r = contest.residual;
  std::int64_t bound = r.offset;
  for (const std::int32_t root : r.roots) bound += best_path(r, root, prices);
  for (int f = 0; f < c.forest.n_features; ++f) {
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    for (const Cell cell : contest.allowed[f]) most = std::max(most, earning(c, r, f, cell, prices));
    bound += most;
  }
  return bound;
}

// Whether every leaf below `at` that needs the band leaves a bound below the target, should its tree take it. `left` is
// what the path to `at` leaves of the bound.
bool inexact_below(const Residual& r, std::int32_t at, std::int64_t left, std::int64_t target,
                   const PlainPrices& prices) {
  if (at < r.n_constants()) return !r.inexact[at] || left + r.constants[at] < target;
  const std::int32_t n = at - r.n_constants(), node = r.origin[n];
  return inexact_below(r, r.left[n], left - prices.alpha[node], target, prices) &&
         inexact_below(r, r.right[n], left - prices.beta[node], target, prices);
}

void check_closes(const Case& c, const Contest& contest, Lagrangian& lagrangian, std::int64_t bound,
                  std::int64_t target, std::int64_t exact_target, const PlainPrices& prices) {
  const Residual& r = contest.residual;
  const bool closes = lagrangian.closes(target, exact_target);
  for (std::size_t i = 0; i < contest.inside.size(); ++i)
    CHECK(!closes || contest.values[i] < (c.bands[contest.inside[i]] == 0 ? exact_target : target),
          "a closed box has no winner");
  bool expected = bound < exact_target && !r.offset_inexact;
  for (const std::int32_t root : r.roots)
    expected = expected && inexact_below(r, root, bound - best_path(r, root, prices), target, prices);
  CHECK(closes == (expected || bound < target),
        "a box is closed iff the bound and all leaves that need the band allow it");
  ++counts.closings;
  counts.closed += closes && bound >= target;
}

void check_fix(const Case& c, const Contest& contest, const Lagrangian& lagrangian, std::int64_t bound,
               std::int64_t target, const PlainPrices& prices) {
  if (target > bound) return;
  const Residual& r = contest.residual;
  Box box = contest.box;
  bool empty = false;
  const bool shrank = lagrangian.fix(box, target, empty, nullptr, contest.pair);
  const Allowed left = empty ? Allowed(contest.allowed.size()) : allowed_of(c, box);
  CHECK(shrank == (left != contest.allowed), "fixing tells whether it cut anything off");
  for (std::size_t i = 0; i < contest.inside.size(); ++i)
    CHECK(contest.values[i] < target || contains(left, c.points[contest.inside[i]]),
          "no point worth the target is cut off");
  ++counts.fixings;
  counts.empty_fixings += empty;
  if (empty) return;
  bool forced = false;  // at some root the best path of one side costs more than the target allows
  for (const std::int32_t root : r.roots) {
    const std::int32_t n = root - r.n_constants(), node = r.origin[n];
    const std::int64_t without = bound - best_path(r, root, prices);
    const bool no_left = without + best_path(r, r.left[n], prices) - prices.alpha[node] < target;
    const bool no_right = without + best_path(r, r.right[n], prices) - prices.beta[node] < target;
    forced = forced || no_left || no_right;
    CHECK((!no_left && !no_right) || box.side(c.forest, node) == (no_left ? Side::right : Side::left),
          "a side of a root that costs too much is cut off");
  }
  for (std::size_t f = 0; f < left.size(); ++f) {
    CHECK(!left[f].empty() &&
              std::includes(contest.allowed[f].begin(), contest.allowed[f].end(), left[f].begin(), left[f].end()),
          "fixing leaves a part of the box");
    std::int64_t most = 0;
    for (const Cell cell : contest.allowed[f]) most = std::max(most, earning(c, r, f, cell, prices));
    const auto stays = [&](Cell cell) { return bound - most + earning(c, r, f, cell, prices) >= target; };
    if (!c.model.ordered[f]) {
      CHECK(std::all_of(left[f].begin(), left[f].end(), stays), "every value that costs too much is cut off");
    } else if (!forced) {  // behind the splits of roots, new ends are left for the next time
      CHECK(stays(left[f].front()) && stays(left[f].back()), "both ends that cost too much are cut off");
    }
  }
}

void check_lagrangian(Random& random, const Case& c, const Contest& contest) {
  const Residual& r = contest.residual;
  const std::int32_t largest =
      random.chance(25) ? random.between(1, 1 << 12) : largest_price(c.forest.depth);
  Lagrangian lagrangian(c.forest, largest);
  PlainPrices prices(c);
  if (random.chance(60)) {
    const std::int32_t most = random.chance(50) ? largest : std::min(largest, 1 << random.between(1, 15));
    for (std::size_t n = 0; n < c.twins.size(); ++n) {
      prices.alpha[n] = random.chance(50) ? random.between(0, most) : 0;
      prices.beta[n] = random.chance(50) ? random.between(0, most) : 0;
    }
  }
  Prices kept_prices(c.twins.size());
  if (random.chance(20)) {
    kept_prices.set(0, 1, 2);
    kept_prices.forget();
  }
  CHECK(PlainPrices(c, kept_prices) == PlainPrices(c), "prices that were never set, or forgotten, are 0");
  for (std::size_t n = 0; n < c.twins.size(); ++n)
    kept_prices.set(static_cast<std::int32_t>(n), prices.alpha[n], prices.beta[n]);
  lagrangian.start(r, contest.box, kept_prices);
  const std::int64_t best = *std::max_element(contest.values.begin(), contest.values.end());
  const PlainPrices before = prices;
  std::int64_t kept = 0;
  bool any_kept = false;
  const int steps = random.between(1, 25);
  for (int i = 0; i <= steps; ++i) {
    const bool restored = any_kept && (i == steps || random.chance(10));
    if (restored) {
      lagrangian.restore_prices();
      any_kept = false;
    }
    const std::int64_t bound = lagrangian.evaluate();
    lagrangian.save(kept_prices);
    prices = PlainPrices(c, kept_prices);
    CHECK(!restored || bound == kept, "restored prices give the bound they gave before");
    CHECK(bound >= best, "the bound is at least the value of every point of the box");
    CHECK(bound == bound_of(c, contest, prices), "the bound is what its prices make it");
    if (i == 0) CHECK(prices == before, "the prices at the start are the ones given");
    for (const std::int32_t node : r.origin)
      for (const std::int32_t price : {prices.alpha[node], prices.beta[node]})
        CHECK(price >= 0 && price <= largest, "prices keep their limits");
    ++counts.bounds;

    Point point = random_point(random, contest.allowed);
    const std::int64_t value = lagrangian.value_of_best_cells();
    lagrangian.place_best_cells(point);
    CHECK(contains(contest.allowed, point), "the best cells lie in the box");
    CHECK(value == residual_value(c, r, point), "the value of the best cells is that of their point");
    for (std::size_t f = 0; f < point.size(); ++f)
      for (const Cell cell : contest.allowed[f])
        CHECK(std::find(r.features.begin(), r.features.end(), static_cast<std::int32_t>(f)) == r.features.end() ||
                  earning(c, r, f, cell, prices) <= earning(c, r, f, point[f], prices),
              "no cell earns more than the best one");

    for (const std::int64_t target : {best, best + 1, bound, bound + 1, bound - random.between(0, 1 << Scale::kBits)})
      check_closes(c, contest, lagrangian, bound, target, target + random.below(1 << 16), prices);
    for (const std::int64_t target : {best, best + 1, bound, bound - random.between(0, 1 << Scale::kBits)})
      check_fix(c, contest, lagrangian, bound, target, prices);
    if (!r.slot_node.empty()) {
      Side side{};
      const std::int32_t node = lagrangian.branch(side);
      CHECK(contest.box.side(c.forest, node) == Side::both, "a box is split where it goes both ways");
      const TwinNode& twin = *c.twins[node];
      CHECK((side == Side::left) == twin.goes_left[point[twin.feature]], "the best cell's side comes first");
    }
    if (random.chance(30)) {
      lagrangian.keep_prices();
      kept = bound;
      any_kept = true;
    }
    const std::int64_t aim = random.chance(50) ? best : bound - random.between(0, 1 << 20);
    if (!lagrangian.step(aim, random.chance(50) ? 2.0 : 1.0 / random.between(1, 50))) {
      lagrangian.save(kept_prices);
      CHECK(PlainPrices(c, kept_prices) == prices, "a step that cannot move leaves the prices");
      CHECK(bound == value, "where no price can move, the best cells attain the bound");
      break;
    }
  }
}

void check_local_search(Random& random, const Case& c, LocalSearch& search, const Contest& contest) {
  const Residual& r = contest.residual;
  const Point start = random_point(random, contest.allowed);
  const std::int64_t here = residual_value(c, r, start);
  const std::int64_t best = *std::max_element(contest.values.begin(), contest.values.end());

  // One step: the best change of one feature, also when it is no improvement.
  std::int64_t one_better = std::numeric_limits<std::int64_t>::min();
  for (const std::int32_t f : r.features)
    for (const Cell cell : contest.allowed[f]) {
      bool differs = !c.model.ordered[f] && cell != start[f];  // ordered: at some split that is left
      for (const std::int32_t node : r.slot_node) {
        const TwinNode& twin = *c.twins[node];
        differs = differs || (twin.feature == f && twin.goes_left[cell] != twin.goes_left[start[f]]);
      }
      Point point = start;
      point[f] = cell;
      if (differs) one_better = std::max(one_better, residual_value(c, r, point));
    }
  search.start(r, contest.box, start);
  const std::int64_t after = search.run(std::numeric_limits<std::int64_t>::max(), 1);
  CHECK(after == (r.features.empty() ? here : one_better), "the first step is the best change of one feature");

  for (const std::int64_t target : {best, best + 1, here}) {
    Point point = start;
    search.start(r, contest.box, start);
    const std::int64_t value = search.run(target, random.between(1, 20));
    search.place(point);
    CHECK(contains(contest.allowed, point), "local search stays in the box");
    CHECK(value == residual_value(c, r, point), "local search tells the value of its point");
    CHECK(target != here || point == start, "local search stays where the target is reached");
    ++counts.local_searches;
  }
}

void check_layers(Random& random, const Case& c) {
  if (c.model.n_classes < 2) return;
  ResidualBuilder builder(c.forest);
  LocalSearch search(c.forest);
  Contest contest;
  for (int i = 0; i < 3; ++i) {
    build(random, c, builder, contest);
    check_lagrangian(random, c, contest);
    check_local_search(random, c, search, contest);
  }
}

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
  CHECK(near == outcome.near_tie, "an entailment is near a tie iff sums alone do not show it at some point");
  counts.smaller_cores += outcome.used != restricted;
}

bool keeps(const Forest& forest, const Clause& clause, const Point& point) {
  for (const Literal& literal : clause) {
    const Cell cell = point[literal.feature];
    if (forest.ordered[literal.feature] ? literal.low <= cell && cell <= literal.high
                                        : (forest.literal_sets[literal.words + cell / 64] >> (cell % 64)) & 1U)
      return true;
  }
  return false;
}

// Reads the record of a proof back: the parts must make up the box, and each must be closed as the record says.
class Record {
 public:
  Record(const Case& c, const Forest& forest, const Recorder& recorder, Claim claim)
      : c_(c), forest_(forest), recorder_(recorder), claim_(claim) {}

  void check(const Allowed& allowed) {
    std::vector<int> rivals;
    while (at_ < recorder_.steps().size()) {
      CHECK(next() == Recorder::kRival, "a part of the record starts with the class that it excludes");
      rival_ = next();
      CHECK(violates(claim_, rival_), "a class is excluded that violates the claim");
      rivals.push_back(rival_);
      check_part(allowed);
    }
    std::sort(rivals.begin(), rivals.end());
    std::vector<int> expected;
    for (int k = 0; k < forest_.n_classes; ++k)
      if (violates(claim_, k)) expected.push_back(k);
    CHECK(rivals == expected, "every class that violates the claim is excluded once");
    ++counts.records;
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  std::int32_t next() {
    CHECK(at_ < recorder_.steps().size(), "a record does not end before the box is closed");
    return recorder_.steps()[at_++];
  }

  void check_part(const Allowed& allowed) {
    ++counts.record_parts;
    switch (next()) {
      case Recorder::kOrdered: {
        const int f = next();
        const Cell low = next(), high = next();
        check_split(allowed, f, [&](Cell cell) { return low <= cell && cell <= high; });
        break;
      }
      case Recorder::kSet: {
        const int f = next();
        std::vector<std::uint32_t> halves(2 * (forest_.words_begin[f + 1] - forest_.words_begin[f]));
        for (std::uint32_t& half : halves) half = static_cast<std::uint32_t>(next());
        check_split(allowed, f, [&](Cell cell) { return (halves[cell / 32] >> (cell % 32)) & 1U; });
        break;
      }
      case Recorder::kPrices: {
        const int winner = next(), loser = next();
        const auto& table = recorder_.tables().at(next());
        CHECK(winner == rival_ && loser != rival_, "a bound is on the class that is excluded");
        CHECK(claim_.kind == ClaimKind::never || loser == claim_.label, "and on the label, if that shall stay");
        CHECK(loses_by_prices(allowed, {winner, loser}, table) || loses_by_sums(allowed, {winner, loser}),
              "a part said to be closed by prices is closed by them");
        break;
      }
      case Recorder::kEvaluated:
        for (const std::size_t x : c_.inside(allowed)) {
          CHECK(!violates(claim_, c_.labels[x]), "a part that was evaluated keeps the claim");
          for (std::size_t t = 0; t < c_.leaves[x].size(); ++t) {
            const TwinNode &leaf = *c_.leaves[x][t], &first = *c_.leaves[c_.inside(allowed)[0]][t];
            CHECK(c_.model.band > 0 ? leaf.values == first.values : leaf.scores == first.scores,
                  "every tree has one value left in a part that was evaluated");
          }
        }
        break;
      case Recorder::kBroken: {
        const Clause& clause = forest_.clauses.at(next());
        for (const std::size_t x : c_.inside(allowed))
          CHECK(!keeps(forest_, clause, c_.points[x]), "every point of a part said to break a clause breaks it");
        break;
      }
      default:
        CHECK(false, "a step of the record is known");
    }
  }

  template <typename Inside>
  void check_split(const Allowed& allowed, int f, const Inside& inside) {
    Allowed first = allowed, rest = allowed;
    std::erase_if(first[f], [&](Cell cell) { return !inside(cell); });
    std::erase_if(rest[f], inside);
    CHECK(!first[f].empty() && !rest[f].empty(), "a split has two parts");
    check_part(first);
    check_part(rest);
  }

  // The best of a tree's leaves in scaled scores, payments deducted; of all, and of those that need the band.
  struct Best {
    std::int64_t of_all = kNone, of_inexact = kNone;
  };

  void walk(const Allowed& allowed, Pair pair, const PlainPrices& prices, std::size_t t, int n, std::int64_t paid,
            Best& best) const {
    const TwinNode& node = c_.model.trees[t][n];
    if (node.feature < 0) {
      const std::int64_t value = forest_.scale.value(node.scores[pair.winner] - node.scores[pair.loser]) - paid;
      best.of_all = std::max(best.of_all, value);
      if (c_.model.band > 0 && !node.exact) best.of_inexact = std::max(best.of_inexact, value);
      return;
    }
    const std::size_t id = forest_.roots[t] + n;
    for (const bool left : {true, false}) {
      Allowed part = allowed;
      std::erase_if(part[node.feature], [&](Cell cell) { return node.goes_left[cell] != left; });
      if (!part[node.feature].empty())
        walk(part, pair, prices, t, left ? node.left : node.right, paid + (left ? prices.alpha[id] : prices.beta[id]),
             best);
    }
  }

  bool loses_by_prices(const Allowed& allowed, Pair pair, const std::vector<std::int32_t>& table) const {
    PlainPrices prices(c_);
    for (std::size_t i = 0; i < table.size(); i += 3) {
      CHECK(table[i + 1] != 0 || table[i + 2] != 0, "a record has no prices of 0");
      prices.alpha[table[i]] = table[i + 1];
      prices.beta[table[i]] = table[i + 2];
    }
    std::int64_t bound = 0;
    std::vector<Best> trees(c_.model.trees.size());
    for (std::size_t t = 0; t < trees.size(); ++t) {
      walk(allowed, pair, prices, t, 0, 0, trees[t]);
      bound += trees[t].of_all;
    }
    for (std::size_t f = 0; f < allowed.size(); ++f) {
      std::int64_t most = 0;
      for (const Cell cell : allowed[f]) {
        std::int64_t earned = 0;
        for (std::size_t i = 0; i < table.size(); i += 3) {
          const TwinNode& node = *c_.twins[table[i]];
          if (node.feature == static_cast<int>(f)) earned += node.goes_left[cell] ? table[i + 1] : table[i + 2];
        }
        most = std::max(most, earned);
      }
      bound += most;
    }
    const std::int64_t target = forest_.scale.target(forest_, pair);
    if (bound < target) return true;
    return bound < forest_.scale.exact_target(forest_, pair) &&
           std::all_of(trees.begin(), trees.end(), [&](const Best& best) {
             return best.of_inexact == kNone || bound - best.of_all + best.of_inexact < target;
           });
  }

  // In the scores themselves, each tree by itself.
  bool loses_by_sums(const Allowed& allowed, Pair pair) const {
    std::int64_t most = 0;
    bool exact = true;
    for (std::size_t t = 0; t < c_.model.trees.size(); ++t) {
      std::int64_t of_tree = std::numeric_limits<std::int64_t>::min();
      for (const std::size_t x : c_.inside(allowed)) {
        const TwinNode& leaf = *c_.leaves[x][t];
        of_tree = std::max(of_tree, leaf.scores[pair.winner] - leaf.scores[pair.loser]);
        exact = exact && leaf.exact;
      }
      most += of_tree;
    }
    return most < c_.model.least(pair.winner, pair.loser) - (exact ? 0 : c_.model.band);
  }

  const Case& c_;
  const Forest& forest_;
  const Recorder& recorder_;
  const Claim claim_;
  std::size_t at_ = 0;
  int rival_ = -1;
};

// A search that writes its proof down: the same answer as without, and the record of an entailed claim proves it.
void check_record(const Case& c, const Forest& forest, const Table* table, const Allowed& allowed, Claim claim,
                  const Point& home, const Outcome& expected) {
  Recorder recorder(forest);
  Searcher searcher(forest, table);
  const Outcome outcome = searcher.decide(box_of(c, allowed), claim, home, never_stop, &recorder);
  CHECK(outcome.status == expected.status && outcome.witness == expected.witness && outcome.used == expected.used &&
            outcome.used_clauses == expected.used_clauses && outcome.boxes == expected.boxes,
        "a search that writes its proof down gives the same answer");
  if (outcome.status == Status::entailed) Record(c, forest, recorder, claim).check(allowed);
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
    CHECK(closed == !maybe_won, "a goal is closed iff no point that may win it violates the claim");
    if (closed) {
      for (const std::size_t x : c.inside(relaxed(c, allowed, outcome.used)))
        CHECK(!violates(claim, c.labels[x]) || !wins_all(c, x, goal, -1),
              "the restrictions used are enough for the goal");
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

void check_search(Random& random, const Case& c, Searcher& reused) {
  const int n = c.model.trees.size() > 12 ? 6 : 4;
  const std::unique_ptr<const Table> table = c.model.n_classes == 2 ? Table::make(c.forest) : nullptr;
  for (int i = 0; i < n; ++i) {
    const auto [allowed, claim] = random_query(random, c);
    const Box box = box_of(c, allowed);
    // With more classes, a table also calls the points near a tie whose label is not certain but keeps the claim.
    if (table != nullptr) {
      const Point& near = c.points[c.points.size() / 2];
      const auto changes = [&](const Point& point) {
        int n_changes = 0;
        for (std::size_t f = 0; f < point.size(); ++f) n_changes += point[f] != near[f];
        return n_changes;
      };
      const Outcome found = table->decide(box, claim, near);
      check_outcome(c, allowed, claim, found);
      for (const std::size_t x : c.inside(allowed))
        CHECK(!violates(claim, c.labels[x]) || changes(found.witness) <= changes(c.points[x]),
              "a table's witness changes as few features as possible");
    }
    if (random.chance(15)) reused.forget();
    const Point home = random_point(random, random.chance(50) ? allowed : c.full());
    const Outcome outcome = reused.decide(box, claim, home, never_stop);
    check_outcome(c, allowed, claim, outcome);
    const Outcome fresh = Searcher(c.forest).decide(box, claim, home, never_stop);
    check_outcome(c, allowed, claim, fresh);
    const Outcome again = Searcher(c.forest).decide(box, claim, home, never_stop);
    CHECK(again.witness == fresh.witness && again.used == fresh.used && again.boxes == fresh.boxes,
          "a search can be repeated");
    if (random.chance(15)) check_record(c, c.forest, table.get(), allowed, claim, home, fresh);
    ++counts.queries;
    counts.entailed += outcome.status == Status::entailed;
    counts.refuted += outcome.status == Status::refuted;
    counts.split += outcome.boxes > 1 || fresh.boxes > 1;
    counts.near_ties += outcome.near_tie;

    CHECK(reused.decide(box, claim, home, stop_after(0)).boxes == 0, "a search that may not start examines no box");
    const Outcome stopped = reused.decide(box, claim, home, stop_after(random.between(0, 6)));
    if (stopped.status == Status::stopped) {
      ++counts.stopped;
    } else {
      check_outcome(c, allowed, claim, stopped);
    }
  }
}

// One to four clauses of one to three literals; perhaps no point keeps them all.
void add_clauses(Random& random, Forest& forest) {
  const int n = random.between(1, 4);
  for (int i = 0; i < n; ++i) {
    Clause clause;
    const int literals = random.between(1, 3);
    for (int j = 0; j < literals; ++j) {
      const int f = random.below(forest.n_features);
      const Cell last = forest.n_cells[f] - 1;
      Literal literal{f, 0, last, forest.literal_sets.size()};
      if (last > 0) (random.chance(50) ? literal.low : literal.high) = random.between(1, last) - (literal.low == 0);
      if (literal.low == 0 && literal.high == last && last > 0) literal.high = last - 1;
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

bool suffices(const Case& c, const Point& point, const Flags& kept, Claim claim) {
  Allowed allowed = c.full();
  for (std::size_t f = 0; f < kept.size(); ++f)
    if (kept[f]) allowed[f] = {point[f]};
  return holds(c, allowed, claim);
}

void check_deletion(Random& random, const Case& c, Searcher& reused) {
  for (int i = 0; i < 2; ++i) {
    const Point point = random.pick(c.points);
    const Claim claim = true_claim(random, c, point);
    Flags start(point.size(), 1);
    for (int tries = 0; tries < 4 && random.chance(60); ++tries) {
      Flags fewer = start;
      fewer[random.below(static_cast<int>(fewer.size()))] = 0;
      if (suffices(c, point, fewer, claim)) start = fewer;
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
      if (!suffices(c, point, expected, claim)) expected[f] = before;
    }
    const Deletion found = delete_features(reused, c.forest, point, claim, order, start, never_stop);
    CHECK(found.minimal && found.tally.unknown == 0, "a deletion that nobody stops is complete");
    CHECK(found.kept == expected, "deletion keeps what naive deletion keeps");
    CHECK(c.model.band > 0 || found.tally.near_ties == 0, "without a band nothing is near a tie");
    Searcher fresh(c.forest);
    CHECK(delete_features(fresh, c.forest, point, claim, order, start, never_stop).kept == expected,
          "deletion with a fresh searcher");
    ++counts.explanations;

    const Deletion part = delete_features(random.chance(50) ? reused : fresh, c.forest, point, claim, order, start,
                                     stop_after(random.between(0, 12)));
    CHECK(is_subset(part.kept, start), "deletion only deletes");
    CHECK(suffices(c, point, part.kept, claim), "what a stopped deletion keeps is enough");
    CHECK(part.minimal == (part.tally.unknown == 0), "only a stop leaves deletion incomplete");
    CHECK(!part.minimal || part.kept == expected, "a deletion said to be complete is complete");
    counts.stopped_explanations += !part.minimal;
  }
}

void check_inflation(Random& random, const Case& c) {
  Forest forest = c.forest;
  if (random.chance(40)) add_clauses(random, forest);
  const std::unique_ptr<const Table> table = random.chance(20) ? Table::make(forest) : nullptr;
  const auto entails = [&](const Allowed& allowed, Claim claim) {
    for (const std::size_t x : c.inside(allowed))
      if (violates(claim, c.labels[x]) && std::all_of(forest.clauses.begin(), forest.clauses.end(), [&](const Clause& clause) {
            return keeps(forest, clause, c.points[x]);
          }))
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
    if (c.model.ordered[f] && random.chance(50)) {
      std::erase_if(wider[f], [&](Cell cell) { return std::abs(cell - point[f]) > 1; });
    } else if (random.chance(50)) {
      std::erase_if(wider[f], [&](Cell cell) { return cell != point[f] && !c.model.ordered[f] && random.chance(50); });
    }
    if (entails(wider, claim)) start = wider;
  }
  std::vector<std::int32_t> order(point.size());
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(order);
  if (random.chance(20)) order.resize(1 + random.below(static_cast<int>(order.size())));

  Allowed expected = start;  // cell by cell
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
    } else {
      for (Cell cell = 0; cell < c.model.n_cells[f]; ++cell)
        if (std::find(start[f].begin(), start[f].end(), cell) == start[f].end()) joins(cell);
    }
    std::sort(taken.begin(), taken.end());
    expected[f] = taken;
  }
  // Small searches are over before patience is: with less of it, guesses are made, and many of them are wrong.
  for (const Guessing guessing : {Guessing{}, Guessing{0, 1000}, Guessing{random.between(0, 3), random.between(1, 4)}}) {
    const Inflation found = inflate(reused, forest, point, claim, box_of(c, start), order, never_stop, guessing);
    CHECK(found.widest && found.tally.unknown == 0, "a widening that nobody stops is complete");
    bool ended = false;  // before the last cell of a feature
    for (const std::int32_t f : order) ended = ended || expected[f] != c.full()[f];
    CHECK(!ended || found.tally.refuted > 0, "a widening ends where it was refuted");
    CHECK(ended || found.retaken > 0 || found.tally.refuted == 0, "only where it ends, or guessed wrongly, it was refuted");
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
  CHECK(inflate(reused, forest, point, claim, box_of(c, start), {}, never_stop, {}).used_clauses ==
            Flags(forest.clauses.size(), 0),
        "widening that asks nothing uses no clause");
  CHECK(delete_features(reused, forest, point, claim, {}, Flags(point.size(), 1), never_stop).used_clauses ==
            Flags(forest.clauses.size(), 0),
        "deletion that asks nothing uses no clause");
  ++counts.inflations;

  bool asks = false;
  for (const std::int32_t f : order) asks = asks || start[f] != c.full()[f];
  const Inflation none = inflate(reused, forest, point, claim, box_of(c, start), order, stop_after(0), {});
  CHECK(none.widest == !asks && none.tally.unknown == asks && allowed_of(c, none.box) == start,
        "a widening that may not start leaves the box");
  const Inflation part = inflate(reused, forest, point, claim, box_of(c, start), order,
                                 stop_after(random.between(0, 30)), {random.between(0, 20), random.between(1, 5)});
  const Allowed wider = allowed_of(c, part.box);
  CHECK(entails(wider, claim), "a widening that was stopped still entails the claim");
  for (std::size_t f = 0; f < wider.size(); ++f)
    CHECK(std::includes(wider[f].begin(), wider[f].end(), start[f].begin(), start[f].end()) &&
              std::includes(expected[f].begin(), expected[f].end(), wider[f].begin(), wider[f].end()),
          "a widening that was stopped is on its way");
  CHECK(part.widest == (part.tally.unknown == 0) && part.tally.unknown <= 1, "only a stop leaves widening incomplete");
  CHECK(!part.widest || wider == expected, "a widening said to be complete is complete");
  counts.stopped_inflations += !part.widest;
}

// A tree of one split between votes for two classes.
Tree stump(int feature, std::vector<bool> goes_left, int left_vote, int right_vote) {
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

// Each of two values of a feature wins one of two trees, a third value none. Allowing only the first two decides no
// split, so the proof was said not to need that; but it needs that the third is excluded.
void regression_core_of_named_values() {
  Model model;
  model.n_classes = 2;
  model.n_cells = {3};
  model.ordered = {0};
  model.trees = {stump(0, {true, false, false}, 0, 1), stump(0, {false, true, false}, 0, 1)};
  const Case c(std::move(model));
  const Allowed allowed{{0, 1}};
  const Claim claim{ClaimKind::stays, 0};
  check_outcome(c, allowed, claim, Searcher(c.forest).decide(box_of(c, allowed), claim, {0}, never_stop));
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
  Residual residual;
  Flags used(2, 0);
  ResidualBuilder(c.forest).build(residual, box, {0, 1}, c.forest.scale, {0, 0}, used);
  LocalSearch search(c.forest);
  Point point{0, 1};
  search.start(residual, box, point);
  const std::int64_t value = search.run(std::numeric_limits<std::int64_t>::max(), 1);
  search.place(point);
  CHECK(value == 0 && residual_value(c, residual, point) == 0, "either change costs one of the two votes");
}

// A target far beyond all scores was multiplied as scores are, and overflowed: then it seemed within reach.
void regression_target_beyond_all_scores(std::int64_t one) {
  for (const std::int64_t far : {std::int64_t{1} << 50, std::int64_t{1} << 62, -(std::int64_t{1} << 50)}) {
    Model model;
    model.vote = Vote::sum;
    model.n_classes = 2;
    model.n_cells = {2};
    model.ordered = {1};
    model.sums.start = {static_cast<double>(far) / static_cast<double>(one), 0.0};
    model.theta = {1, -far, 1 + far, 1};
    model.trees = {stump(0, {true, false}, 0, 1)};
    for (TwinNode& node : model.trees[0])
      for (std::int64_t& score : node.scores) score *= one;
    TwinNode constant;
    constant.values = {0.0, 0.0};
    constant.scores = {0, 0};
    model.trees.push_back({constant});
    const Case c(std::move(model));
    check_forest(c);
    for (const int label : {0, 1})
      for (const ClaimKind kind : {ClaimKind::stays, ClaimKind::never}) {
        const Claim claim{kind, label};
        check_outcome(c, c.full(), claim, Searcher(c.forest).decide(Box::full(c.forest), claim, {0}, never_stop));
      }
    for (const Pair pair : {Pair{0, 1}, Pair{1, 0}}) {
      const bool wins = (pair.winner == 0) == (far > 0);
      CHECK((c.forest.scale.target(c.forest, pair) <= -2 << Scale::kBits) == wins, "what is far in front stays there");
      CHECK((c.forest.scale.target(c.forest, pair) > 2 << Scale::kBits) != wins, "what is out of reach stays there");
      CHECK(std::abs(c.forest.scale.target(c.forest, pair)) <= kFar << Scale::kBits, "targets can be computed with");
    }
  }
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
  const auto is = [](int f, Cell cell) { return Literal{f, cell, cell, 0}; };
  forest.clauses = {{is(0, 1), is(1, 1)}, {is(0, 0), is(2, 1)}, {is(0, 0), is(2, 0)}};
  const Claim claim{ClaimKind::never, 0};
  const Box box = Box::full(forest);
  for (const Outcome& outcome :
       {decide_plainly(forest, box, claim, never_stop), Searcher(forest).decide(box, claim, {0, 0, 0}, never_stop)}) {
    CHECK(outcome.status == Status::refuted, "there are points that keep the clauses");
    CHECK(outcome.witness[0] == 0 && outcome.witness[1] == 1, "these");
  }
}

// Where sums alone decide, the label is that of the start.
void check_no_trees() {
  Model model;
  model.vote = Vote::sum;
  model.n_classes = 2;
  model.n_cells = {2};
  model.ordered = {1};
  model.sums.start = {0.0, 1.0};
  model.theta = {1, 1, 0, 1};
  const Case c(std::move(model));
  for (const int label : {0, 1})
    for (const ClaimKind kind : {ClaimKind::stays, ClaimKind::never}) {
      const Claim claim{kind, label};
      check_outcome(c, c.full(), claim, Searcher(c.forest).decide(Box::full(c.forest), claim, {0}, never_stop));
      check_outcome(c, c.full(), claim, Table::make(c.forest)->decide(Box::full(c.forest), claim, {0}));
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

// A tree of one leaf.
Tree constant(int vote, int n_classes) {
  TwinNode leaf;
  leaf.values.assign(n_classes, 0.0);
  leaf.scores.assign(n_classes, 0);
  leaf.values[vote] = 1.0;
  leaf.scores[vote] = 1;
  return {leaf};
}

// Witnesses that are found at once; asking on would let a search be stopped that has its answer.
void check_a_witness_ends_the_search() {
  Model model;
  model.n_classes = 2;
  model.n_cells = {3, 2};
  model.ordered = {1, 1};
  model.trees = {stump(1, {true, false}, 0, 1)};
  const Case c(std::move(model));
  const Claim claim{ClaimKind::stays, 0};
  const Outcome outcome = Searcher(c.forest).decide(Box::full(c.forest), claim, {2, 0}, stop_after(4));
  check_outcome(c, c.full(), claim, outcome);
  CHECK(outcome.witness == (Point{2, 1}), "a witness has the cells of home where they do not matter");

  Model other;  // two rivals, and no tree that has a split
  other.n_classes = 3;
  other.n_cells = {2};
  other.ordered = {1};
  other.trees = {constant(1, 3), constant(2, 3)};
  const Case decided(std::move(other));
  check_outcome(decided, decided.full(), claim,
                Searcher(decided.forest).decide(Box::full(decided.forest), claim, {0}, stop_after(2)));
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
  const Deletion found =
      delete_features(searcher, c.forest, {0, 0, 0, 0}, {ClaimKind::stays, 0}, {0, 1, 2, 3}, {1, 1, 1, 1}, never_stop);
  CHECK(found.kept == (Flags{0, 0, 0, 1}) && found.tally.entailed == 1 && found.tally.remembered == 2 && found.tally.refuted == 1,
        "what a proof did not use is not asked again");
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
  forest.clauses = {{{0, 1, 2, 0}, {0, 2, 2, 0}}, {{0, 0, 0, 0}}};
  const Claim claim{ClaimKind::never, 0};
  const Box box = Box::full(forest);
  CHECK(decide_plainly(forest, box, claim, never_stop).status == Status::entailed, "there is no point");
  const Outcome outcome = Searcher(forest).decide(box, claim, {0}, never_stop);
  CHECK(outcome.status == Status::entailed, "there is no point");
  check_record(c, forest, nullptr, c.full(), claim, {0}, outcome);
}

// Tables of large spaces would take long to make.
void check_limits_of_tables() {
  const auto forest_of = [](int n_features, int n_trees, int n_clauses) {
    Forest forest;
    forest.n_features = n_features;
    forest.n_classes = 2;
    forest.n_cells.assign(n_features, 2);
    forest.ordered.assign(n_features, 1);
    for (int t = 0; t < n_trees; ++t) {
      const std::int32_t root = 3 * t;
      forest.roots.push_back(root);
      forest.feature.insert(forest.feature.end(), {0, -1, -1});
      forest.cut.insert(forest.cut.end(), {0, -1, -1});
      forest.left.insert(forest.left.end(), {root + 1, -1, -1});
      forest.right.insert(forest.right.end(), {root + 2, -1, -1});
      forest.scores.insert(forest.scores.end(), {0, 0, 1, 0, 0, 1});
      forest.exact.insert(forest.exact.end(), {0, 1, 1});
    }
    for (int k = 0; k < n_clauses; ++k) forest.clauses.push_back({{0, 0, k == 0 ? 0 : 1, 0}});
    forest.derive();
    return forest;
  };
  CHECK(Table::make(forest_of(13, 1, 0)) == nullptr, "no table of 8,192 points");
  CHECK(Table::make(forest_of(12, 129, 0)) == nullptr, "no table of 4,096 points and 129 trees");
  CHECK(Table::make(forest_of(12, 128, 0)) != nullptr, "a table of 4,096 points and 128 trees");
  CHECK(Table::make(forest_of(2, 1, 65)) == nullptr, "no table of 65 clauses");
  const Forest forest = forest_of(2, 1, 64);
  const Outcome outcome = Table::make(forest)->decide(Box::full(forest), {ClaimKind::stays, 0}, {0, 0});
  Flags only_the_first(64, 0);
  only_the_first[0] = 1;
  CHECK(outcome.status == Status::entailed && outcome.used_clauses == only_the_first, "one of 64 clauses is used");
  CHECK(outcome.boxes == 1, "a table looks at one box");
}

void check_largest_price() {
  for (const int depth : {1, 2, 100, 2047, 2048, 2049, 5000, 1 << 20}) {
    CHECK(largest_price(depth) > 0 && largest_price(depth) <= 1 << 18, "prices have a limit");
    CHECK(std::int64_t{depth} * largest_price(depth) <= 1 << 29, "the payments on a path fit 32 bits at the limit");
  }
}

// Votes of up to 64 classes are counted in the bits of a word, those of more classes are not.
void check_many_classes() {
  for (const int n_classes : {63, 64, 65}) {
    const auto leaf = [&](int vote) {
      TwinNode node;
      node.values.assign(n_classes, 0.0);
      node.scores.assign(n_classes, 0);
      node.values[vote] = 1.0;
      node.scores[vote] = 1;
      return node;
    };
    Model model;
    model.n_classes = n_classes;
    model.n_cells = {3, 2};
    model.ordered = {1, 1};
    for (int t = 0; t < 3; ++t) {
      TwinNode root = leaf(0);
      root.feature = t % 2;
      root.goes_left = t % 2 == 0 ? std::vector<bool>{true, t == 0, false} : std::vector<bool>{true, false};
      root.left = 1;
      root.right = 2;
      model.trees.push_back({root, leaf(t == 1 ? 0 : n_classes - 1), leaf(n_classes - 2)});
    }
    const Case c(std::move(model));
    check_forest(c);
    for (std::size_t x = 0; x < c.points.size(); ++x)
      for (const int label : {0, n_classes - 2, n_classes - 1})
        for (const ClaimKind kind : {ClaimKind::stays, ClaimKind::never}) {
          Allowed allowed = c.full();
          allowed[x % 2] = {c.points[x][x % 2]};
          const Claim claim{kind, label};
          check_outcome(c, allowed, claim, Searcher(c.forest).decide(box_of(c, allowed), claim, c.points[x], never_stop));
        }
  }
}

// Quotients of a softmax are rounded, so which of two close sums is the first largest depends on all of them.
template <typename Number>
void check_softmax(Random& random) {
  for (int i = 0; i < 40; ++i) {
    std::vector<Number> sums;
    const Number base = static_cast<Number>(random.between(-8, 8)) / 4;
    for (int k = random.between(2, 5); k > 0; --k) {
      Number sum = base;
      for (int steps = random.between(0, 3); steps > 0; --steps) sum = std::nextafter(sum, Number{100});
      sums.push_back(random.chance(30) ? static_cast<Number>(sum - random.between(0, 20) / Number{7}) : sum);
    }
    const Number most = *std::max_element(sums.begin(), sums.end());
    double total = 0;
    std::vector<Number> shares;
    for (const Number sum : sums) shares.push_back(std::exp(sum - most));
    for (const Number share : shares) total += static_cast<double>(share);
    int expected = 0;
    for (Number& share : shares) share /= static_cast<Number>(total);
    for (std::size_t k = 0; k < shares.size(); ++k)
      if (shares[k] > shares[expected]) expected = static_cast<int>(k);
    CHECK(softmax_label(sums) == expected, "the first largest share of a softmax");
  }
}

// Two trees want the two sides of one split: the naive bound gives both what they want, prices must not.
void check_prices_settle_a_contradiction() {
  for (const bool ordered : {true, false}) {
    Model model;
    model.n_classes = 2;
    model.n_cells = {2};
    model.ordered = {ordered};
    model.trees = {stump(0, {true, false}, 1, 0), stump(0, {true, false}, 0, 1)};
    const Case c(std::move(model));
    const Box box = Box::full(c.forest);
    Residual residual;
    Flags used(1, 0);
    ResidualBuilder(c.forest).build(residual, box, {0, 1}, c.forest.scale, {0}, used);
    Lagrangian lagrangian(c.forest, 1 << 18);
    lagrangian.start(residual, box, Prices(c.twins.size()));
    const std::int64_t naive = lagrangian.evaluate();
    CHECK(naive == 2 << Scale::kBits, "without prices the bound is the naive one");
    std::int64_t bound = naive;
    for (int i = 0; i < 20 && lagrangian.step(0, 1.0); ++i) bound = std::min(bound, lagrangian.evaluate());
    CHECK(bound == 0, "prices lower the bound to the best value");
  }
}

void check_case(std::uint64_t seed) {
  seed_of_case = seed;
  Random random(seed);
  const Case c(random_model(random));
  check_softmax<float>(random);
  check_softmax<double>(random);
  check_forest(c);
  check_box(random, c);
  check_scale(random, c);
  check_layers(random, c);
  check_plain(random, c);
  Searcher reused(c.forest);
  check_search(random, c, reused);
  check_deletion(random, c, reused);
  check_clauses(random, c);
  check_inflation(random, c);
  ++counts.cases;
  counts.mean_votes += c.model.vote == Vote::mean;
  counts.sums += c.model.vote == Vote::sum;
  counts.whole_votes += c.model.unit != 0;
}

int run(int argc, char** argv) {
  std::uint64_t seed = 1, cases = 0;  // 0: as many as there is time for
  double seconds = 0;                 // 0: as long as it takes
  for (int i = 1; i < argc; i += 2) {
    char* end = nullptr;
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (std::strcmp(argv[i], "--seed") == 0) {
      seed = std::strtoull(value, &end, 10);
    } else if (std::strcmp(argv[i], "--cases") == 0) {
      cases = std::strtoull(value, &end, 10);
    } else if (std::strcmp(argv[i], "--seconds") == 0) {
      seconds = std::strtod(value, &end);
    }
    if (end == nullptr || end == value || *end != '\0') {
      std::fprintf(stderr, "usage: %s [--seed S] [--cases N] [--seconds T]\n", argv[0]);
      return 2;
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  regression_core_of_named_values();
  regression_gain_of_the_next_feature();
  regression_target_beyond_all_scores(1);
  regression_target_beyond_all_scores(1 << (Scale::kBits - 1));  // scores that are neither multiplied nor divided
  check_no_trees();
  check_edge_of_the_band();
  check_largest_price();
  check_a_witness_ends_the_search();
  check_deletion_remembers();
  check_clauses_that_leave_nothing();
  check_limits_of_tables();
  check_prices_settle_a_contradiction();
  check_many_classes();
  check_both_sides_of_a_literal();
  check_case(5177);  // fixing leaves nothing of a box, and then another rival wins
  if (cases == 0 && seconds == 0) cases = 1000;
  for (std::uint64_t i = 0; (cases == 0 || i < cases) && (seconds == 0 || elapsed() < seconds); ++i)
    check_case(seed + i);
  counts.print();
  return 0;
}

}  // namespace
}  // namespace treeproof::testing

int main(int argc, char** argv) { return treeproof::testing::run(argc, argv); }
