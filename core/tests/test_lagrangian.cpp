// The Lagrangian bound, closing and fixing, by their definitions.
#include "../lagrangian.hpp"
#include "checks.hpp"

namespace treeproof::testing {

// What a cell earns at all gates of its feature, and what absorbed trees add there.
std::int64_t earning(const Case& c, const Residual& r, std::size_t f, Cell cell, const PlainPrices& prices) {
  std::int64_t sum = absorbed_value(c, r, f, cell);
  for (std::int32_t g = 0; g < r.n_gates(); ++g) {
    const std::int32_t node = c.forest.gate_node[r.gate_origin[g]];
    if (c.twins[node]->feature == static_cast<int>(f))
      sum += c.twins[node]->goes_left[cell] ? prices.alpha[node] : prices.beta[node];
  }
  return sum;
}

// A side that a path takes at a node of the residual forest.
struct Turn {
  std::int32_t n;
  bool left;
};
using Turns = std::vector<Turn>;

Turns then(Turns turns, std::int32_t n, bool left) {
  turns.push_back({n, left});
  return turns;
}

// What a path pays: every gate of its tree whose side one of its turns implies. Where missing values were in the box,
// or splits are sets, a turn counts for its own split only.
std::int64_t paid(const Case& c, const Contest& contest, const Turns& turns, const PlainPrices& prices) {
  const Residual& r = contest.residual;
  std::int64_t sum = 0;
  const auto tree_of = [&](std::int32_t gate) {
    return std::upper_bound(c.forest.gate_begin.begin(), c.forest.gate_begin.end(), gate);
  };
  for (std::int32_t g = 0; g < r.n_gates(); ++g) {
    const std::int32_t node = c.forest.gate_node[r.gate_origin[g]];
    const auto [f, cut, ignored_left, ignored_right] = c.forest.nodes[node];
    bool goes_left = false, goes_right = false;
    for (const auto [n, left] : turns) {
      const Node& turn = c.forest.nodes[r.nodes[n].origin];
      if (turn.feature != f || tree_of(c.forest.gate[r.nodes[n].origin]) != tree_of(r.gate_origin[g])) continue;
      if (!contest.chained[f] && turn.cut != cut) continue;
      goes_left = goes_left || (left && turn.cut <= cut);
      goes_right = goes_right || (!left && turn.cut >= cut);
    }
    CHECK(!goes_left || !goes_right, "no path goes both ways");
    sum += (goes_left ? prices.alpha[node] : 0) + (goes_right ? prices.beta[node] : 0);
  }
  return sum;
}

// The best value below, less what the whole path pays.
std::int64_t best_path(const Case& c, const Contest& contest, std::int32_t at, const PlainPrices& prices,
                       const Turns& turns = {}) {
  const Residual& r = contest.residual;
  if (at < 0) return r.constants[~at] - paid(c, contest, turns, prices);
  return std::max(best_path(c, contest, r.nodes[at].left, prices, then(turns, at, true)),
                  best_path(c, contest, r.nodes[at].right, prices, then(turns, at, false)));
}

// The most that a path to a leaf below pays.
std::int64_t most_paid(const Case& c, const Contest& contest, std::int32_t at, const PlainPrices& prices,
                       const Turns& turns = {}) {
  const Residual& r = contest.residual;
  if (at < 0) return paid(c, contest, turns, prices);
  return std::max(most_paid(c, contest, r.nodes[at].left, prices, then(turns, at, true)),
                  most_paid(c, contest, r.nodes[at].right, prices, then(turns, at, false)));
}

// The bound by its definition.
std::int64_t bound_of(const Case& c, const Contest& contest, const PlainPrices& prices) {
  const Residual& r = contest.residual;
  std::int64_t bound = r.offset;
  for (const std::int32_t root : r.roots) bound += best_path(c, contest, root, prices);
  for (int f = 0; f < c.forest.n_features; ++f) {
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    for (const Cell cell : contest.allowed[f]) most = std::max(most, earning(c, r, f, cell, prices));
    bound += most;
  }
  return bound;
}

// Whether every leaf below `at` that needs the band leaves a bound below the target, should its tree take it; `others`
// is the bound without this tree.
bool inexact_below(const Case& c, const Contest& contest, std::int32_t at, std::int64_t others, std::int64_t target,
                   const PlainPrices& prices, const Turns& turns = {}) {
  const Residual& r = contest.residual;
  if (at < 0) return !r.inexact[~at] || others + r.constants[~at] - paid(c, contest, turns, prices) < target;
  return inexact_below(c, contest, r.nodes[at].left, others, target, prices, then(turns, at, true)) &&
         inexact_below(c, contest, r.nodes[at].right, others, target, prices, then(turns, at, false));
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
    expected = expected && inexact_below(c, contest, root, bound - best_path(c, contest, root, prices), target, prices);
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
    const Residual::Fork& fork = r.nodes[root];
    const std::int64_t without = bound - best_path(c, contest, root, prices);
    const bool no_left = without + best_path(c, contest, fork.left, prices, {{root, true}}) < target;
    const bool no_right = without + best_path(c, contest, fork.right, prices, {{root, false}}) < target;
    forced = forced || no_left || no_right;
    CHECK((!no_left && !no_right) || box.side(c.forest, fork.origin) == (no_left ? Side::right : Side::left),
          "a side of a root that costs too much is cut off");
  }
  for (std::size_t f = 0; f < left.size(); ++f) {
    CHECK(!left[f].empty() &&
              std::includes(contest.allowed[f].begin(), contest.allowed[f].end(), left[f].begin(), left[f].end()),
          "fixing leaves a part of the box");
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    for (const Cell cell : contest.allowed[f]) most = std::max(most, earning(c, r, f, cell, prices));
    const auto stays = [&](Cell cell) { return bound - most + earning(c, r, f, cell, prices) >= target; };
    if (c.model.is_gapped(f)) {
      const Cell missing = c.model.n_cells[f] - 1;
      const bool numbers = left[f].front() != missing, has_missing = left[f].back() == missing;
      CHECK(!has_missing || forced || stays(missing), "missing values that cost too much are cut off");
      CHECK(!numbers || forced || (stays(left[f].front()) && stays(left[f][left[f].size() - 1 - has_missing])),
            "both ends of the numbers that cost too much are cut off");
    } else if (!c.model.ordered[f]) {
      CHECK(std::all_of(left[f].begin(), left[f].end(), stays), "every value that costs too much is cut off");
    } else if (!forced) {  // behind the splits of roots, new ends are left for the next time
      CHECK(stays(left[f].front()) && stays(left[f].back()), "both ends that cost too much are cut off");
    }
  }
}

// The node that stands for the gate of a node.
std::int32_t gate_node(const Case& c, const Residual& r, std::int32_t node) {
  return c.forest.gate_node[r.gate_origin[r.nodes[node].gate]];
}

void check_lagrangian(Random& random, const Case& c, const Contest& contest) {
  const Residual& r = contest.residual;
  const std::int32_t payments = random.chance(25) ? random.between(1, 1 << 12) : kLargestPayments;
  const std::int32_t largest = largest_price(r.most_gates, payments);
  Lagrangian lagrangian(c.forest, payments);
  PlainPrices prices(c);
  const bool too_large = random.chance(25);
  if (random.chance(60)) {
    const std::int32_t limit = too_large ? 2 * largest : largest;
    const std::int32_t most = random.chance(50) ? limit : std::min(limit, 1 << random.between(1, 20));
    for (const std::int32_t n : c.forest.gate_node) {
      prices.alpha[n] = random.chance(50) ? random.between(0, most) : 0;
      prices.beta[n] = random.chance(50) ? random.between(0, most) : 0;
    }
  }
  Prices kept_prices(c.forest.gate_node.size());
  if (random.chance(20) && !c.forest.gate_node.empty()) {
    kept_prices.set(0, 1, 2);
    kept_prices.forget();
  }
  CHECK(PlainPrices(c, kept_prices) == PlainPrices(c), "prices that were never set, or forgotten, are 0");
  for (const std::int32_t n : c.forest.gate_node) kept_prices.set(c.forest.gate[n], prices.alpha[n], prices.beta[n]);
  lagrangian.start(r, contest.box, kept_prices);
  const std::int64_t best = *std::max_element(contest.values.begin(), contest.values.end());
  for (const auto& [node, feature] : r.singles)
    prices.alpha[gate_node(c, r, node)] = prices.beta[gate_node(c, r, node)] = 0;
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
    if (i == 0) CHECK(too_large || prices == before, "the prices at the start are the ones given, or 0");
    for (std::size_t n = 0; n < c.twins.size(); ++n) {
      CHECK(prices.alpha[n] >= 0 && prices.beta[n] >= 0, "prices are not negative");
      CHECK(i > 0 || (prices.alpha[n] <= before.alpha[n] && prices.beta[n] <= before.beta[n]),
            "prices at the start are only lowered");
    }
    for (const std::int32_t gate : r.gate_origin)
      CHECK(kept_prices.alpha(gate) <= largest && kept_prices.beta(gate) <= largest, "prices keep their limit");
    for (const std::int32_t root : r.roots)
      CHECK(most_paid(c, contest, root, prices) <= payments, "payments on a path keep their limit");
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
      const auto most = static_cast<std::size_t>(random.between(1, 4));
      const Branches branches = lagrangian.branches(most);
      CHECK(!branches.empty() && branches.size() <= most, "a box can be split");
      std::vector<int> split;
      for (const auto& [node, side] : branches) {
        CHECK(contest.box.side(c.forest, node) == Side::both, "a box is split where it goes both ways");
        const TwinNode& twin = *c.twins[node];
        CHECK((side == Side::left) == twin.goes_left[point[twin.feature]], "the best cell's side comes first");
        CHECK(std::find(split.begin(), split.end(), twin.feature) == split.end(), "a feature is split once");
        split.push_back(twin.feature);
      }
      CHECK(lagrangian.branches(1).front().node == branches.front().node, "the worst feature comes first");
    }
    if (random.chance(30)) {
      lagrangian.keep_prices();
      kept = bound;
      any_kept = true;
    }
    const std::int64_t aim = random.chance(50)   ? best
                             : random.chance(80) ? bound - random.between(0, 1 << 20)
                                                 : bound - (std::int64_t{1} << 50);
    if (!lagrangian.step(aim, random.chance(50) ? 2.0 : 1.0 / random.between(1, 50))) {
      lagrangian.save(kept_prices);
      CHECK(PlainPrices(c, kept_prices) == prices, "a step that cannot move leaves the prices");
      CHECK(bound == value, "where no price can move, the best cells attain the bound");
      break;
    }
  }
}

// A tree that splits one feature after each of its first `n` cells, on one path; leaves vote for one class and the
// other in turn.
Model comb(int n) {
  Model model;
  model.n_classes = 2;
  model.n_cells = {n + 1};
  model.ordered = {1};
  Tree tree;
  for (int cut = 0; cut < n; ++cut) {
    Tree split = stump(0, std::vector<bool>(static_cast<std::size_t>(n + 1)), cut % 2, 1 - cut % 2);
    std::fill_n(split[0].goes_left.begin(), cut + 1, true);
    split[0].left = 2 * cut + 1;
    split[0].right = 2 * cut + 2;
    if (!tree.empty()) tree.pop_back();
    tree.insert(tree.end(), split.begin(), split.end());
  }
  model.trees = {tree};
  return model;
}

// At the largest prices, the payments on a path and the values of all nodes fit 32 bits, also where a path pays for
// every gate of its tree; and so do prices after the largest move.
void check_largest_prices() {
  for (const std::int32_t n : {0, 1, 2, 31, 32, 33, 5000, 1 << 20}) {
    CHECK(largest_price(n) > 0 && largest_price(n) <= 1 << 24, "prices have a limit");
    CHECK(std::int64_t{n} * largest_price(n) <= 1 << 29, "the payments on a path fit 32 bits at the limit");
  }
  for (const int n : {1, 31, 32, 33, 700}) {
    const Case c(comb(n));
    const Box box = Box::full(c.forest);
    const Residual residual = residual_of(c, box, {0, 1});
    CHECK(residual.most_gates == n, "every split of the comb is a gate");
    Prices prices(c.forest.gate_node.size());
    for (std::int32_t gate = 0; gate < n; ++gate) prices.set(gate, 1 << 30, 1 << 30);
    Lagrangian lagrangian(c.forest);
    lagrangian.start(residual, box, prices);
    const std::int64_t best = 1 << Scale::kBits;
    CHECK(lagrangian.evaluate() == best, "every path pays what every cell earns: the largest price of each gate");
    CHECK(!lagrangian.step(-(std::int64_t{1} << 50), 2.0), "there the bound is attained");
    for (std::int32_t gate = 0; gate < n; ++gate) prices.set(gate, 0, gate % 2 == 0 ? 1 << 30 : 0);
    lagrangian.start(residual, box, prices);
    for (int i = 0; i < 20; ++i) {
      CHECK(lagrangian.evaluate() >= best, "no value exceeds its type");
      if (!lagrangian.step(-(std::int64_t{1} << 50), 2.0)) break;
    }
    lagrangian.save(prices);
    for (std::int32_t gate = 0; gate < n; ++gate)
      CHECK(prices.alpha(gate) <= largest_price(n) && prices.beta(gate) <= largest_price(n), "a move keeps the limit");
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
    const Residual residual = residual_of(c, box, {0, 1});
    Lagrangian lagrangian(c.forest);
    lagrangian.start(residual, box, Prices(c.forest.gate_node.size()));
    const std::int64_t naive = lagrangian.evaluate();
    CHECK(naive == 2 << Scale::kBits, "without prices the bound is the naive one");
    std::int64_t bound = naive;
    for (int i = 0; i < 20 && lagrangian.step(0, 1.0); ++i) bound = std::min(bound, lagrangian.evaluate());
    CHECK(bound == 0, "prices lower the bound to the best value");
  }
}

}  // namespace treeproof::testing
