// Checks every layer of the core by itself against enumeration, on random small forests.
//
//   test_core [--seed S] [--cases N] [--seconds T]
//
// Case i of a run has seed S + i; a failure prints the seed of its case, and `--seed <that> --cases 1` repeats it alone.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../deletion.hpp"
#include "../lagrangian.hpp"
#include "../local_search.hpp"
#include "../residual.hpp"
#include "../scale.hpp"
#include "../search.hpp"
#include "generator.hpp"

namespace treeproof::testing {
namespace {

std::uint64_t seed_of_case = 0;

[[noreturn]] void fail(const char* file, int line, const char* condition, const std::string& what) {
  std::fprintf(stderr, "%s:%d: seed %llu: %s\n  failed: %s\n", file, line, static_cast<unsigned long long>(seed_of_case),
               what.c_str(), condition);
  std::exit(1);
}

#define CHECK(condition, what)                                       \
  do {                                                               \
    if (!(condition)) fail(__FILE__, __LINE__, #condition, what);    \
  } while (false)

struct Counts {
  std::uint64_t cases = 0, mean_votes = 0, labels = 0, boxes = 0, scaled_values = 0, residuals = 0, bounds = 0, closings = 0,
                closed = 0, fixings = 0,
                empty_fixings = 0, local_searches = 0, plain_goals = 0, plain_queries = 0, queries = 0, entailed = 0,
                refuted = 0, stopped = 0, split = 0, near_ties = 0, smaller_cores = 0, explanations = 0,
                stopped_explanations = 0;

  void print() const {
    const std::pair<const char*, std::uint64_t> all[] = {
        {"cases", cases},
        {"of them mean votes", mean_votes},
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
        {"explanations", explanations},
        {"explanations stopped", stopped_explanations},
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

std::int64_t difference(const Case& c, std::size_t x, Pair pair) { return c.sums[x][pair.winner] - c.sums[x][pair.loser]; }

std::int64_t least_win(int winner, int loser) { return winner < loser ? 0 : 1; }

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
    return difference(c, x, pair) >= least_win(pair.winner, pair.loser) + sign * c.bands[x];
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

// Answers false `polls` times, then true for ever.
Poll stop_after(int polls) {
  return [polls]() mutable { return polls-- <= 0; };
}

void check_forest(const Case& c) {
  CHECK(c.forest.label(c.points[0]) >= 0, "label");
  for (std::size_t x = 0; x < c.points.size(); ++x) {
    CHECK(c.forest.label(c.points[x]) == c.labels[x], "the label at a point is the twin's");
    CHECK(c.forest.sums(c.points[x]) == c.sums[x], "the sums of scores at a point are the twin's");
    // Not of the core: what the forest's scores and band promise to all that follows.
    for (int k = 0; k < c.model.n_classes; ++k) {
      if (k == c.labels[x]) continue;
      const std::int64_t lead = difference(c, x, {c.labels[x], k});
      CHECK(lead >= least_win(c.labels[x], k) - c.bands[x], "the label may win by its sums of scores");
      CHECK(-lead < least_win(k, c.labels[x]) + c.bands[x], "no other class wins by its sums of scores");
    }
    ++counts.labels;
  }
  for (std::size_t n = 0; n < c.twins.size(); ++n)
    for (std::size_t cell = 0; cell < c.twins[n]->goes_left.size(); ++cell)
      CHECK(c.forest.goes_left(static_cast<std::int32_t>(n), static_cast<Cell>(cell)) == c.twins[n]->goes_left[cell],
            "a cell goes to the twin's side");
  std::vector<int> level(c.twins.size(), 1);
  for (std::size_t n = 0; n < level.size(); ++n)
    if (c.forest.feature[n] >= 0) level[c.forest.left[n]] = level[c.forest.right[n]] = level[n] + 1;
  CHECK(c.forest.depth == *std::max_element(level.begin(), level.end()), "the depth is that of the longest path");
  for (int k = 0; k < c.model.n_classes; ++k)
    for (int j = 0; j < c.model.n_classes; ++j) CHECK(theta(k, j) == least_win(k, j), "ties go to the first class");
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
bool covers(std::int64_t sum, std::int64_t exact, int shift) { return shift > 0 ? sum << shift >= exact : sum >= exact << -shift; }

std::int64_t scaled_sum(const Case& c, std::size_t x, Pair pair) {
  std::int64_t sum = 0;
  for (const TwinNode* leaf : c.leaves[x]) sum += c.forest.scale.value(leaf->scores[pair.winner] - leaf->scores[pair.loser]);
  return sum;
}

bool all_exact(const Case& c, std::size_t x) {
  return std::all_of(c.leaves[x].begin(), c.leaves[x].end(), [](const TwinNode* leaf) { return leaf->exact; });
}

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
    const std::int64_t least = least_win(pair.winner, pair.loser);
    for (std::size_t x = 0; x < c.points.size(); ++x) {
      const std::int64_t its_target = all_exact(c, x) ? exact_target : target;
      const bool open = scaled_sum(c, x, pair) >= its_target;
      const std::int64_t exact = difference(c, x, pair);
      CHECK(open || exact < least - c.bands[x], "a scaled sum below the target loses the pair, outside the band");
      CHECK(open || c.labels[x] != pair.winner, "a scaled sum below the target does not belong to a winner");
      CHECK(!open || shift > 0 || exact >= least - c.bands[x], "where scaling is exact, so is the target");
    }
    const auto n_trees = static_cast<std::int64_t>(c.model.trees.size());
    if (c.model.vote == Vote::majority && c.model.n_classes == 2)
      CHECK(target == (least + (least + n_trees) % 2) << -shift, "two classes: the target has the parity of the votes");
  }
  const std::int64_t unit = shift > 0 ? std::int64_t{1} << shift : 1;
  for (const std::int64_t exact : {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, unit, unit - 1, unit + 1, -unit, 1 - unit, -unit - 1})
    check_value(exact);
}

// Walks a residual forest with the twin's splits; notes whether that meets a value that needs the band.
std::int64_t residual_value(const Case& c, const Residual& r, const Point& point, bool* inexact = nullptr) {
  std::int64_t sum = r.offset;
  if (inexact != nullptr) *inexact = r.offset_inexact;
  for (std::int32_t at : r.roots) {
    while (at >= r.n_constants()) {
      const std::int32_t n = at - r.n_constants();
      const TwinNode& twin = *c.twins[r.origin[n]];
      at = twin.goes_left[point[twin.feature]] ? r.left[n] : r.right[n];
    }
    sum += r.constants[at];
    if (inexact != nullptr) *inexact = *inexact || r.inexact[at];
  }
  return sum;
}

void check_shape(const Case& c, const Residual& r, const Allowed& allowed) {
  const std::int32_t n_constants = r.n_constants(), all = n_constants + r.n_nodes();
  for (std::int32_t n = 0; n < r.n_nodes(); ++n)
    for (const std::int32_t child : {r.left[n], r.right[n]})
      CHECK(child >= 0 && child < all && (child < n_constants || child > n_constants + n), "children are constants or later nodes");
  for (const std::int32_t root : r.roots) CHECK(root >= n_constants && root < all, "a tree that is left has a node");
  CHECK(r.slot_begin.size() == r.features.size() + 1 && r.slot_begin.back() == static_cast<std::int32_t>(r.slot_node.size()),
        "slot_begin has one entry more than features");
  for (std::size_t i = 0; i < r.features.size(); ++i) {
    const std::int32_t f = r.features[i];
    CHECK(i == 0 || r.features[i - 1] < f, "features ascend");
    CHECK(r.slot_begin[i] < r.slot_begin[i + 1], "a feature that occurs has splits");
    for (std::int32_t s = r.slot_begin[i]; s < r.slot_begin[i + 1]; ++s) {
      const TwinNode& twin = *c.twins[r.slot_node[s]];
      CHECK(twin.feature == f, "splits are sorted by feature");
      CHECK(!c.model.ordered[f] || s == r.slot_begin[i] || c.forest.cut[r.slot_node[s - 1]] < c.forest.cut[r.slot_node[s]],
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
  for (const std::size_t x : contest.inside) {
    bool inexact = false;
    const std::int64_t value = residual_value(c, r, c.points[x], &inexact);
    contest.values.push_back(value);
    CHECK(inexact || c.model.band == 0 || all_exact(c, x), "a residual forest knows which leaves need the band");
    CHECK(value == scaled_sum(c, x, contest.pair), "the residual forest is worth what the forest is");
    CHECK(covers(value, difference(c, x, contest.pair), shift), "the residual forest is worth at least the exact difference");
  }
  for (const std::size_t x : c.inside(relaxed(c, contest.allowed, used)))
    CHECK(residual_value(c, r, c.points[x]) == scaled_sum(c, x, contest.pair),
          "restrictions that were not used do not change the residual forest");
  ++counts.residuals;
}

using Prices = std::vector<std::int32_t>;

// What a cell earns at all nodes of its feature.
std::int64_t earning(const Case& c, const Residual& r, int f, Cell cell, const Prices& alpha, const Prices& beta) {
  std::int64_t sum = 0;
  for (const std::int32_t node : r.origin)
    if (c.twins[node]->feature == f) sum += c.twins[node]->goes_left[cell] ? alpha[node] : beta[node];
  return sum;
}

std::int64_t best_path(const Residual& r, std::int32_t at, const Prices& alpha, const Prices& beta) {
  if (at < r.n_constants()) return r.constants[at];
  const std::int32_t n = at - r.n_constants(), node = r.origin[n];
  return std::max(best_path(r, r.left[n], alpha, beta) - alpha[node], best_path(r, r.right[n], alpha, beta) - beta[node]);
}

// The bound by its definition.
std::int64_t bound_of(const Case& c, const Contest& contest, const Prices& alpha, const Prices& beta) {
  const Residual& r = contest.residual;
  std::int64_t bound = r.offset;
  for (const std::int32_t root : r.roots) bound += best_path(r, root, alpha, beta);
  for (int f = 0; f < c.forest.n_features; ++f) {
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    for (const Cell cell : contest.allowed[f]) most = std::max(most, earning(c, r, f, cell, alpha, beta));
    bound += most;
  }
  return bound;
}

// The same for `closes`: below every leaf of a tree that needs the band, with what paths to it have `left` of the bound.
bool inexact_below(const Residual& r, std::int32_t at, std::int64_t left, std::int64_t target, const Prices& alpha,
                   const Prices& beta) {
  if (at < r.n_constants()) return !r.inexact[at] || left + r.constants[at] < target;
  const std::int32_t n = at - r.n_constants(), node = r.origin[n];
  return inexact_below(r, r.left[n], left - alpha[node], target, alpha, beta) &&
         inexact_below(r, r.right[n], left - beta[node], target, alpha, beta);
}

void check_closes(const Case& c, const Contest& contest, Lagrangian& lagrangian, std::int64_t bound, std::int64_t target,
                  std::int64_t exact_target, const Prices& alpha, const Prices& beta) {
  const Residual& r = contest.residual;
  const bool closes = lagrangian.closes(target, exact_target);
  for (std::size_t i = 0; i < contest.inside.size(); ++i)
    CHECK(!closes || contest.values[i] < (c.bands[contest.inside[i]] == 0 ? exact_target : target), "a closed box has no winner");
  bool expected = bound < exact_target && !r.offset_inexact;
  for (const std::int32_t root : r.roots)
    expected = expected && inexact_below(r, root, bound - best_path(r, root, alpha, beta), target, alpha, beta);
  CHECK(closes == (expected || bound < target), "a box is closed iff the bound and all leaves that need the band allow it");
  ++counts.closings;
  counts.closed += closes && bound >= target;
}

void check_fix(const Case& c, const Contest& contest, const Lagrangian& lagrangian, std::int64_t bound, std::int64_t target,
               const Prices& alpha, const Prices& beta) {
  if (target > bound) return;
  const Residual& r = contest.residual;
  Box box = contest.box;
  bool empty = false;
  const bool shrank = lagrangian.fix(box, target, empty);
  const Allowed left = empty ? Allowed(contest.allowed.size()) : allowed_of(c, box);
  CHECK(shrank == (left != contest.allowed), "fixing tells whether it cut anything off");
  for (std::size_t i = 0; i < contest.inside.size(); ++i)
    CHECK(contest.values[i] < target || contains(left, c.points[contest.inside[i]]), "no point worth the target is cut off");
  ++counts.fixings;
  counts.empty_fixings += empty;
  if (empty) return;
  bool forced = false;  // at some root the best path of one side costs more than the target allows
  for (const std::int32_t root : r.roots) {
    const std::int32_t n = root - r.n_constants(), node = r.origin[n];
    const std::int64_t without = bound - best_path(r, root, alpha, beta);
    forced = forced || without + best_path(r, r.left[n], alpha, beta) - alpha[node] < target ||
             without + best_path(r, r.right[n], alpha, beta) - beta[node] < target;
  }
  for (std::size_t f = 0; f < left.size(); ++f) {
    CHECK(!left[f].empty() && std::includes(contest.allowed[f].begin(), contest.allowed[f].end(), left[f].begin(), left[f].end()),
          "fixing leaves a part of the box");
    std::int64_t most = 0;
    for (const Cell cell : contest.allowed[f]) most = std::max(most, earning(c, r, static_cast<int>(f), cell, alpha, beta));
    const auto stays = [&](Cell cell) { return bound - most + earning(c, r, static_cast<int>(f), cell, alpha, beta) >= target; };
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
      random.chance(25) ? random.between(1, 1 << 12) : std::min(1 << 18, (1 << 29) / c.forest.depth);
  Lagrangian lagrangian(c.forest, largest);
  Prices alpha(c.twins.size(), 0), beta(c.twins.size(), 0);
  if (random.chance(60)) {
    const std::int32_t most = random.chance(50) ? largest : std::min(largest, 1 << random.between(1, 15));
    for (std::size_t n = 0; n < alpha.size(); ++n) {
      alpha[n] = random.chance(50) ? random.between(0, most) : 0;
      beta[n] = random.chance(50) ? random.between(0, most) : 0;
    }
  }
  lagrangian.start(r, contest.box, alpha, beta);
  const std::int64_t best = *std::max_element(contest.values.begin(), contest.values.end());
  const Prices alpha_before = alpha, beta_before = beta;
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
    lagrangian.save(alpha, beta);
    CHECK(!restored || bound == kept, "restored prices give the bound they gave before");
    CHECK(bound >= best, "the bound is at least the value of every point of the box");
    CHECK(bound == bound_of(c, contest, alpha, beta), "the bound is what its prices make it");
    if (i == 0) CHECK(alpha == alpha_before && beta == beta_before, "the prices at the start are the ones given");
    for (const std::int32_t node : r.origin)
      CHECK(alpha[node] >= 0 && alpha[node] <= largest && beta[node] >= 0 && beta[node] <= largest, "prices keep their limits");
    ++counts.bounds;

    Point point = random_point(random, contest.allowed);
    const std::int64_t value = lagrangian.value_of_best_cells();
    lagrangian.place_best_cells(point);
    CHECK(contains(contest.allowed, point), "the best cells lie in the box");
    CHECK(value == residual_value(c, r, point), "the value of the best cells is that of their point");
    for (std::size_t f = 0; f < point.size(); ++f)
      for (const Cell cell : contest.allowed[f])
        CHECK(std::find(r.features.begin(), r.features.end(), static_cast<std::int32_t>(f)) == r.features.end() ||
                  earning(c, r, static_cast<int>(f), cell, alpha, beta) <=
                      earning(c, r, static_cast<int>(f), point[f], alpha, beta),
              "no cell earns more than the best one");

    for (const std::int64_t target : {best, best + 1, bound, bound + 1, bound - random.between(0, 1 << Scale::kBits)})
      check_closes(c, contest, lagrangian, bound, target, target + random.below(1 << 16), alpha, beta);
    for (const std::int64_t target : {best, best + 1, bound, bound - random.between(0, 1 << Scale::kBits)})
      check_fix(c, contest, lagrangian, bound, target, alpha, beta);
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
      Prices same_alpha = alpha, same_beta = beta;
      lagrangian.save(same_alpha, same_beta);
      CHECK(same_alpha == alpha && same_beta == beta, "a step that cannot move leaves the prices");
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
      for (const std::int32_t node : r.slot_node)
        differs = differs || (c.twins[node]->feature == f && c.twins[node]->goes_left[cell] != c.twins[node]->goes_left[start[f]]);
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
    CHECK(outcome.near_tie || some_goal(c, x, claim, 1), "a witness that is not near a tie violates the claim by its sums");
    return;
  }
  const Flags restricted = restricted_of(c, allowed);
  CHECK(is_subset(outcome.used, restricted), "only restrictions can be used");
  CHECK(holds(c, relaxed(c, allowed, outcome.used), claim), "the restrictions used are enough");
  const std::vector<std::size_t> inside = c.inside(allowed);
  const bool near = std::any_of(inside.begin(), inside.end(), [&](std::size_t x) { return some_goal(c, x, claim, -1); });
  CHECK(near == outcome.near_tie, "an entailment is near a tie iff sums alone do not show it at some point");
  counts.smaller_cores += outcome.used != restricted;
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
        CHECK(!violates(claim, c.labels[x]) || !wins_all(c, x, goal, -1), "the restrictions used are enough for the goal");
    } else {
      CHECK(outcome.status == Status::refuted && contains(allowed, outcome.witness), "a goal that is not closed has a witness");
      CHECK(violates(claim, c.labels[c.index(outcome.witness)]), "the witness violates the claim");
    }
    ++counts.plain_goals;

    outcome = decide_plainly(c.forest, box, claim, stop_after(random.between(0, 5)));
    if (outcome.status != Status::stopped) check_outcome(c, allowed, claim, outcome);
  }
}

void check_search(Random& random, const Case& c, Searcher& reused) {
  const int n = c.model.trees.size() > 12 ? 6 : 4;
  for (int i = 0; i < n; ++i) {
    const auto [allowed, claim] = random_query(random, c);
    const Box box = box_of(c, allowed);
    const Point home = random_point(random, random.chance(50) ? allowed : c.full());
    const Outcome outcome = reused.decide(box, claim, home, never_stop);
    check_outcome(c, allowed, claim, outcome);
    const Outcome fresh = Searcher(c.forest).decide(box, claim, home, never_stop);
    check_outcome(c, allowed, claim, fresh);
    const Outcome again = Searcher(c.forest).decide(box, claim, home, never_stop);
    CHECK(again.witness == fresh.witness && again.used == fresh.used && again.boxes == fresh.boxes, "a search can be repeated");
    ++counts.queries;
    counts.entailed += outcome.status == Status::entailed;
    counts.refuted += outcome.status == Status::refuted;
    counts.split += outcome.boxes > 1 || fresh.boxes > 1;
    counts.near_ties += outcome.near_tie;

    const Outcome stopped = reused.decide(box, claim, home, stop_after(random.between(0, 6)));
    if (stopped.status == Status::stopped) {
      ++counts.stopped;
    } else {
      check_outcome(c, allowed, claim, stopped);
    }
  }
}

bool suffices(const Case& c, const Point& point, const Flags& kept, Claim claim) {
  Allowed allowed = c.full();
  for (std::size_t f = 0; f < kept.size(); ++f)
    if (kept[f]) allowed[f] = {point[f]};
  return holds(c, allowed, claim);
}

void check_explain(Random& random, const Case& c, Searcher& reused) {
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
    const Explanation found = explain(reused, c.forest, point, claim, order, start, never_stop);
    CHECK(found.minimal && found.stopped == 0, "a deletion that nobody stops is complete");
    CHECK(found.kept == expected, "deletion keeps what naive deletion keeps");
    CHECK(c.model.band > 0 || found.near_ties == 0, "without a band nothing is near a tie");
    Searcher fresh(c.forest);
    CHECK(explain(fresh, c.forest, point, claim, order, start, never_stop).kept == expected, "deletion with a fresh searcher");
    ++counts.explanations;

    const Explanation part = explain(random.chance(50) ? reused : fresh, c.forest, point, claim, order, start,
                                     stop_after(random.between(0, 12)));
    CHECK(is_subset(part.kept, start), "deletion only deletes");
    CHECK(suffices(c, point, part.kept, claim), "what a stopped deletion keeps is enough");
    CHECK(part.minimal == (part.stopped == 0), "only a stop leaves deletion incomplete");
    CHECK(!part.minimal || part.kept == expected, "a deletion said to be complete is complete");
    counts.stopped_explanations += !part.minimal;
  }
}

// Two values of a feature each lose a vote, so that both together cannot win; a third value wins. No split is decided by
// allowing the two only, but the proof needs that the third is excluded.
void regression_core_of_named_values() {
  const auto split = [](std::vector<bool> goes_left) {
    const auto leaf = [](std::int64_t first) { return TwinNode{-1, {}, -1, -1, {double(first), double(1 - first)}, {first, 1 - first}}; };
    return Tree{TwinNode{0, std::move(goes_left), 1, 2, {0, 0}, {0, 0}}, leaf(1), leaf(0)};
  };
  Model model;
  model.n_classes = 2;
  model.n_cells = {3};
  model.ordered = {0};
  model.trees = {split({true, false, false}), split({false, true, false})};
  const Case c(std::move(model));
  const Allowed allowed{{0, 1}};
  const Claim claim{ClaimKind::stays, 0};
  check_outcome(c, allowed, claim, Searcher(c.forest).decide(box_of(c, allowed), claim, {0}, never_stop));
}

void check_case(std::uint64_t seed) {
  seed_of_case = seed;
  Random random(seed);
  const Case c(random_model(random));
  check_forest(c);
  check_box(random, c);
  check_scale(random, c);
  check_layers(random, c);
  check_plain(random, c);
  Searcher reused(c.forest);
  check_search(random, c, reused);
  check_explain(random, c, reused);
  ++counts.cases;
  counts.mean_votes += c.model.vote == Vote::mean;
}

int run(int argc, char** argv) {
  std::uint64_t seed = 1, cases = 1000;
  double seconds = std::numeric_limits<double>::infinity();
  for (int i = 1; i < argc; i += 2) {
    char* end = nullptr;
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (std::strcmp(argv[i], "--seed") == 0) {
      seed = std::strtoull(value, &end, 10);
    } else if (std::strcmp(argv[i], "--cases") == 0) {
      cases = std::strtoull(value, &end, 10);
    } else if (std::strcmp(argv[i], "--seconds") == 0) {
      seconds = std::strtod(value, &end);
      cases = std::numeric_limits<std::uint64_t>::max();
    }
    if (end == nullptr || end == value || *end != '\0') {
      std::fprintf(stderr, "usage: %s [--seed S] [--cases N] [--seconds T]\n", argv[0]);
      return 2;
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  regression_core_of_named_values();
  for (std::uint64_t i = 0; i < cases && elapsed() < seconds; ++i) check_case(seed + i);
  counts.print();
  return 0;
}

}  // namespace
}  // namespace treeproof::testing

int main(int argc, char** argv) { return treeproof::testing::run(argc, argv); }
