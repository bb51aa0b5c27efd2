// Random small forests over cells, each with a plain twin: trees of nodes that list the cells going left, boxes that
// list the cells allowed, and every point of the space evaluated beforehand. The core is compared with the twin.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "../box.hpp"
#include "../branch_and_bound.hpp"
#include "../forest.hpp"

namespace treeproof::testing {

using Point = std::vector<Cell>;
using Flags = std::vector<std::uint8_t>;
using Allowed = std::vector<std::vector<Cell>>;  // per feature the cells of a box, in ascending order

// SplitMix64: the same numbers with every compiler, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  int between(int least, int most) { return least + below(most - least + 1); }
  bool chance(int percent) { return below(100) < percent; }

  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(static_cast<int>(from.size()))];
  }

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[next() % i]);
  }

 private:
  std::uint64_t state_;
};

struct TwinNode {
  int feature = -1;
  std::vector<bool> goes_left;  // per cell of the feature
  int left = -1, right = -1;    // within the tree
  std::vector<double> values;   // per sum
  std::vector<std::int64_t> scores;
  bool exact = true;  // at a leaf: where all trees reach such leaves, sums of scores decide without a band
};

using Tree = std::vector<TwinNode>;  // the root comes first

struct Model {
  Vote vote = Vote::majority;
  int n_classes = 1;
  std::vector<Cell> n_cells;
  std::vector<std::uint8_t> ordered;
  std::vector<std::uint8_t> gapped = {};  // the last cell is apart from the order; empty: no feature is so
  std::vector<Tree> trees;
  std::int64_t band = 0;
  std::optional<int> exponent;  // scores are values times 2^this, rounded down
  std::int64_t unit = 0;  // if not 0: what a pure leaf gives its class, and pure leaves are the exact ones
  Sums sums;              // of a vote by sums
  std::vector<std::int64_t> theta;  // per winner and loser; empty: ties go to the class that comes first

  bool is_gapped(std::size_t f) const { return !gapped.empty() && gapped[f]; }
  int n_features() const { return static_cast<int>(n_cells.size()); }
  int n_sums() const { return vote == Vote::sum ? static_cast<int>(sums.start.size()) : n_classes; }

  // By how much the winner's sum of scores must exceed the loser's, at least, to win.
  std::int64_t least(int winner, int loser) const {
    return theta.empty() ? (winner < loser ? 0 : 1) : theta[winner * n_classes + loser];
  }
};

// Of leaves, under mean vote; sums of the first three kinds are exact.
enum class Values { eighths, pure, large, fractions, near_ties, near_pure, huge, tiny, mixed, outliers };
inline constexpr int kValues = 10;

// `percent_pure`: of leaves of the kinds whose sums may round.
inline std::vector<double> random_values(Random& random, Values kind, int n_classes, int percent_pure) {
  std::vector<double> values(n_classes, 0.0);
  if (kind > Values::large && random.chance(percent_pure)) kind = Values::pure;  // as most leaves of grown trees are
  switch (kind) {
    case Values::pure:
      values[random.below(n_classes)] = 1.0;
      break;
    case Values::eighths:
      for (double& value : values) value = random.between(random.chance(20) ? -8 : 0, 8) / 8.0;
      break;
    case Values::large:  // far beyond the bits of a scaled value, and some that differ in the last bit only
      for (double& value : values) value = std::ldexp(random.between(-3, 3), 40) + random.between(-1, 1);
      break;
    case Values::fractions: {
      int all = 0;
      std::vector<int> counts;
      for (int k = 0; k < n_classes; ++k) all += counts.emplace_back(random.chance(60) ? random.below(5) : 0);
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = all == 0 ? 1.0 / n_classes : counts[k] / double(all);
      break;
    }
    case Values::near_ties: {
      const std::vector<double> some{0.1, 0.2, 0.3, 0.1 + 0.2, 0.7, 1.0 / 3, 2.0 / 3, 0.5, std::nextafter(0.5, 1.0)};
      for (double& value : values) value = random.pick(some);
      break;
    }
    case Values::near_pure: {  // almost a vote, a vote and almost nothing else, or a vote shared by two classes
      const std::vector<double> whole{1.0, 1.0, std::nextafter(1.0, 0.0), std::nextafter(1.0, 2.0), 0.75, 0.5, 0.7};
      const std::vector<double> nothing{0.0, 0.0, 0x1p-53, 0x1p-60, 1e-300};
      for (double& value : values) value = random.pick(nothing);
      const double most = random.pick(whole);
      const int k = random.below(n_classes), j = random.below(n_classes);
      if (random.chance(60)) values[j] = std::fabs(1.0 - most);
      values[k] = most;
      break;
    }
    case Values::huge:
      for (double& value : values) value = random.between(-3, 3) * (random.chance(70) ? 5e307 : 1e300);
      break;
    case Values::tiny:
      for (double& value : values) value = random.below(4) * (random.chance(50) ? 5e-324 : 1e-300);
      break;
    case Values::mixed:
      for (double& value : values) value = std::ldexp(random.between(-9, 9) / 9.0, random.between(-70, 40));
      break;
    case Values::outliers:  // as gradient boosting has them, where a probability is almost 0 or 1
      for (double& value : values) value = random.between(-9, 9) / 9.0;
      if (random.chance(4))
        values[random.below(n_classes)] = std::ldexp(random.between(-9, 9) / 9.0, random.between(10, 60));
      break;
  }
  return values;
}

// Scores, band and exact leaves of a mean vote: a simpler version of integer_scores and exact_leaves in
// treeproof.query.cells, with a band at least as wide as it must be.
inline void score(Model& model, Values kind) {
  int exponent = kind == Values::eighths ? 3 : 0;
  if (kind <= Values::large) {  // multiples of 2^-exponent whose sums are all exact
    for (Tree& tree : model.trees)
      for (TwinNode& node : tree)
        for (const double value : node.values)
          node.scores.push_back(static_cast<std::int64_t>(std::ldexp(value, exponent)));
    return;
  }
  const auto n_trees = static_cast<std::int64_t>(model.trees.size());
  int largest = std::numeric_limits<double>::min_exponent;  // every value is below 2^largest
  for (const Tree& tree : model.trees)
    for (const TwinNode& node : tree)
      for (const double value : node.values) {
        int its = 0;
        std::frexp(value, &its);
        if (value != 0) largest = std::max(largest, its);
      }
  largest += static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n_trees)));  // now also every sum of a class
  const int exact_exponent = std::min(50 - largest, 900);  // sums of multiples of 2^-this are exact
  exponent = std::min(60 - largest, 900);
  model.exponent = exponent;
  std::int64_t most = 0;  // no sum of scores of a class is larger
  for (Tree& tree : model.trees) {
    double of_tree = 0;
    for (TwinNode& node : tree)
      for (const double value : node.values) {
        const double scaled = std::ldexp(value, exponent);
        of_tree = std::max(of_tree, std::fabs(scaled));
        node.scores.push_back(static_cast<std::int64_t>(std::floor(scaled)));
        const double multiple = std::ldexp(value, exact_exponent);
        node.exact = node.exact && largest <= 50 && multiple == std::floor(multiple);
      }
    most += static_cast<std::int64_t>(std::ceil(of_tree));
  }
  if (largest + 1 >= std::numeric_limits<double>::max_exponent) {
    model.band = 2 * most + 2;  // sums may overflow, so none is trusted
  } else {
    // Per tree: 4 * 2^-53 of the largest sum for the additions and the division, 1 where that is subnormal, 1 for
    // rounding scores down.
    model.band = n_trees * ((most >> 51) + 1 + 1 + 1);
  }
}

// Where most exact leaves are pure, only these count as exact, so that sums over exact leaves are whole votes: what
// _exact_leaves in treeproof.oracles.native does.
inline void count_whole_votes(Model& model) {
  const auto is_pure = [](const TwinNode& leaf) {
    return std::count(leaf.values.begin(), leaf.values.end(), 1.0) == 1 &&
           std::count(leaf.values.begin(), leaf.values.end(), 0.0) == std::ssize(leaf.values) - 1;
  };
  int n_exact = 0, n_pure = 0;
  for (const Tree& tree : model.trees)
    for (const TwinNode& node : tree) {
      if (node.feature >= 0 || !node.exact) continue;
      ++n_exact;
      n_pure += is_pure(node);
    }
  if (2 * n_pure <= n_exact) return;
  for (Tree& tree : model.trees)
    for (TwinNode& node : tree) {
      node.exact = node.exact && node.feature < 0 && is_pure(node);
      if (node.exact) model.unit = *std::max_element(node.scores.begin(), node.scores.end());
    }
}

// How sums become a label: starts, cuts on and beside what sums reach, single or double precision, divided or not.
inline Sums random_sums(Random& random, Values kind, int n_classes) {
  Sums sums;
  const bool eighths = kind <= Values::pure;
  sums.single = random.chance(50);
  const bool plain = kind == Values::outliers && random.chance(80);  // what a finer scale is for
  sums.cut = plain || random.chance(50);
  sums.softmax = !sums.cut && random.chance(30);
  if (sums.softmax && !sums.single && random.chance(50)) {
    sums.softmax = false;
    sums.sigmoid = random.pick(std::vector<double>{1, 0.3, 4});
  }
  const std::vector<double> divisors{2, 3, 7, 0.5, 1000};
  if (!sums.softmax && !plain && random.chance(40)) sums.divisor = random.pick(divisors);
  Random apart = random;
  if (sums.softmax && apart.chance(40)) sums.divisor = apart.pick(divisors);
  for (int k = sums.cut ? 1 : n_classes; k > 0; --k) {
    const double far = random.chance(15) ? 1000 : 1;  // beyond what trees can change
    double start = random.between(-8, 8) / (eighths || random.chance(50) ? 8.0 : 7.0) * far;
    if (random.chance(30)) start = 0;
    sums.start.push_back(sums.single ? static_cast<float>(start) : start);
  }
  while (sums.cut && std::ssize(sums.cuts) < n_classes - 1) {
    double cut = random.between(-60, 60) / 8.0 / sums.divisor;
    if (random.chance(30)) cut = std::nextafter(cut, random.chance(50) ? 1e9 : -1e9);
    if (random.chance(20)) cut = random.between(-60, 60) / 7.0;
    if (random.chance(8)) cut *= 1e6;
    if (std::find(sums.cuts.begin(), sums.cuts.end(), cut) == sums.cuts.end()) sums.cuts.push_back(cut);
    std::sort(sums.cuts.begin(), sums.cuts.end());
  }
  if (plain && random.chance(30)) {  // sums and what they must reach are far from 0, not from each other
    const double far = std::ldexp(random.between(-9, 9), random.between(20, 50));
    const double start = sums.single ? static_cast<float>(sums.start[0] + far) : sums.start[0] + far;
    std::vector<double> cuts = sums.cuts;
    for (double& cut : cuts) cut += far;
    if (std::adjacent_find(cuts.begin(), cuts.end()) == cuts.end()) {
      sums.start[0] = start;
      sums.cuts = cuts;
    }
  }
  return sums;
}

// Trees that are added on their own: one after the other, some with a part that is added on its own first.
inline void random_members(Random& random, Sums& sums, int n_trees) {
  const auto member = [&](int first, int last, bool single) {
    Member made{first, last, {}, 1, 1, single};
    const auto number = [&](const std::vector<double>& some) {
      const double one = random.pick(some);
      return single ? static_cast<double>(static_cast<float>(one)) : one;
    };
    for (std::size_t k = 0; k < sums.start.size(); ++k) made.start.push_back(number({0, 0, 0.1, -0.7, 0.25}));
    made.divisor = number({1, 2, 3, 7, 0.7});
    made.weight = number({1, 1, 0.1, 0.2, 0.3, 2, 0});
    sums.members.push_back(std::move(made));
  };
  for (int first = 0; first < n_trees;) {
    const int last = random.between(first + 1, n_trees);
    const bool single = sums.single || random.chance(30);
    if (random.chance(40)) member(random.between(first, last - 1), last, single || random.chance(30));
    if (random.chance(80)) member(first, last, single);
    first = last;
  }
}

// Scores, theta and band of a vote by sums: a simpler version of integer_scores in treeproof.query.cells, with a band
// at least as wide as it must be.
inline void score_sums(Model& model, Values kind) {
  const Sums& sums = model.sums;
  const int n = model.n_classes;
  const auto n_trees = static_cast<std::int64_t>(model.trees.size());
  // Multiples of 1/8 with small sums.
  const bool exact = kind <= Values::pure && !sums.softmax && sums.sigmoid == 0 && sums.members.empty();
  double largest = 1e-300;  // no sum, and no number that a sum must reach, is larger
  for (const double start : sums.start) largest = std::max(largest, std::fabs(start));
  for (const double cut : sums.cuts) largest = std::max(largest, std::fabs(cut) * sums.divisor);
  std::vector<double> factors(model.trees.size(), 1.0), starts = sums.start;
  double most = 1;  // that a sum inside a member is larger than what becomes of it, or of the model's
  for (auto member = sums.members.rbegin(); member != sums.members.rend(); ++member) {
    const double factor = factors[member->first] * member->weight / member->divisor;
    for (std::size_t k = 0; k < starts.size(); ++k) starts[k] += member->start[k] * factor;
    for (int t = member->first; t < member->last; ++t) factors[t] = factor;
    for (const double start : member->start) largest += std::fabs(start) * std::max(1.0, factor);
    most = std::max({most, factor, 1 / member->divisor});
  }
  for (const Tree& tree : model.trees) {
    double of_tree = 0;
    for (const TwinNode& node : tree)
      for (const double value : node.values) of_tree = std::max(of_tree, std::fabs(value));
    largest += of_tree * most;
  }
  int bits = 0;
  std::frexp(largest, &bits);
  const int exponent = exact ? 3 : std::min(44 - bits, 900);
  model.exponent = exponent;
  const auto scaled = [&](double value) { return std::ldexp(value, exponent); };
  std::vector<std::int64_t> start, reach;
  for (const double value : starts) start.push_back(static_cast<std::int64_t>(std::floor(scaled(value))));
  for (const double cut : sums.cuts) {
    std::int64_t least = static_cast<std::int64_t>(std::ceil(scaled(cut * sums.divisor)));
    if (exact) {  // the product may round, so the model's own division tells
      const auto reaches = [&](std::int64_t total) {
        const double sum = static_cast<double>(total) / 8;
        if (sums.single) return static_cast<double>(static_cast<float>(sum) / static_cast<float>(sums.divisor)) >= cut;
        return sum / sums.divisor >= cut;
      };
      while (reaches(least)) --least;
      while (!reaches(least)) ++least;
    }
    reach.push_back(least - start[0]);
  }
  for (std::size_t t = 0; t < model.trees.size(); ++t)
    for (TwinNode& node : model.trees[t]) {
      node.exact = exact;
      for (int k = 0; k < n; ++k) {
        const double value = std::floor(scaled(node.values[sums.cut ? 0 : k] * factors[t]));
        node.scores.push_back(static_cast<std::int64_t>(value) * (sums.cut ? k : 1));
      }
    }
  model.theta.assign(static_cast<std::size_t>(n) * n, 0);
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j) {
      std::int64_t& least = model.theta[k * n + j];
      if (!sums.cut) {
        least = (k < j ? 0 : 1) - (start[k] - start[j]);
      } else if (k > j) {
        least = std::accumulate(reach.begin() + j, reach.begin() + k, std::int64_t{0});
      } else if (k < j) {
        least = 1 - std::accumulate(reach.begin() + k, reach.begin() + j, std::int64_t{0});
      }
    }
  if (exact) return;
  // Of the largest sum: additions, the division, and the product of a cut and the divisor; half of the smallest number;
  // 1 for each score that was rounded down, and for starts and cuts.
  // Members divide and multiply as well, two levels of them, and may do so in single precision.
  const bool some_single =
      std::any_of(sums.members.begin(), sums.members.end(), [](const Member& m) { return m.single; });
  const double unit = (sums.single || some_single ? 0x1p-24 : 0x1p-53) * (sums.members.empty() ? 1 : 2 * most);
  double band = scaled(8 * static_cast<double>(n_trees + 2) * unit * largest) + static_cast<double>(n_trees + 8);
  const double smallest = sums.single || some_single ? 0x1p-149 : 0x1p-1074;
  band += scaled(8 * std::max(1.0, sums.divisor) * smallest * (1 + 8 * static_cast<double>(sums.members.size())));
  if (sums.softmax) band += scaled(32 * unit * std::max(1.0, sums.divisor));
  if (sums.sigmoid != 0) {  // see treeproof.model.sigmoid; where that is almost flat, nothing is trusted
    const double times = sums.sigmoid / sums.divisor, most_flat = times * largest;
    band += most_flat > 32 ? 0x1p50 : scaled(unit * (8 * (1 + std::exp(most_flat)) + 4 * most_flat + 20) / times);
  }
  model.band = static_cast<std::int64_t>(std::min(band, 0x1p50)) * (sums.cut ? std::max(1, n - 1) : 1);
}

struct Shape {
  int n_trees, depth, percent_pure;
  std::vector<int> features;                         // that occur in trees
  std::vector<std::vector<std::vector<bool>>> sets;  // per feature of named values: the sets its splits choose from
};

inline std::vector<bool> random_set(Random& random, Cell n) {
  std::vector<bool> set(n);
  const int kind = random.below(20);
  if (kind == 0) return set;
  if (kind == 1) return std::vector<bool>(n, true);
  if (kind < 8) {
    set[random.below(n)] = true;
    return set;
  }
  for (std::size_t cell = 0; cell < set.size(); ++cell) set[cell] = random.chance(50);
  return set;
}

inline int grow(Random& random, const Model& model, const Shape& shape, Values kind, Tree& tree, int depth) {
  const int at = static_cast<int>(tree.size());
  tree.emplace_back();
  const Values its_kind = model.vote == Vote::majority ? Values::pure : kind;
  tree.back().values = random_values(random, its_kind, model.n_sums(), shape.percent_pure);
  if (model.vote == Vote::sum && (model.sums.single || !model.sums.members.empty()))
    for (double& value : tree.back().values) value = static_cast<float>(value);
  if (depth == 0 || shape.features.empty() || random.chance(12)) return at;
  const int f = random.pick(shape.features);
  const Cell n = model.n_cells[f];
  std::vector<bool> goes_left(n);
  if (model.ordered[f]) {
    // Mostly a cut between two cells, sometimes one before the first or behind the last.
    const Cell cut = n == 1 || random.chance(4) ? (random.chance(50) ? -1 : n - 1) : random.below(n - 1);
    for (Cell cell = 0; cell <= cut; ++cell) goes_left[cell] = true;
  } else if (model.is_gapped(f)) {
    const Cell numbers = random.below(n);
    for (Cell cell = 0; cell < numbers; ++cell) goes_left[cell] = true;
    goes_left[n - 1] = random.chance(50);
  } else {
    goes_left = random.pick(shape.sets[f]);
  }
  const bool right_first = random.chance(20);  // children may lie in any order behind their parent
  const int first = grow(random, model, shape, kind, tree, depth - 1);
  const int second = grow(random, model, shape, kind, tree, depth - 1);
  TwinNode& node = tree[at];
  node.feature = f;
  node.goes_left = std::move(goes_left);
  node.left = right_first ? second : first;
  node.right = right_first ? first : second;
  return at;
}

inline Model random_model(Random& random) {
  Model model;
  model.vote = random.pick(std::vector<Vote>{Vote::majority, Vote::mean, Vote::sum});
  model.n_classes = random.between(2, 6);
  if (random.chance(20)) model.n_classes = random.pick(std::vector<int>{1, 2, 2, 26, 70});  // 70: more than fit a word
  const bool hard = random.chance(8);  // many trees over many features: the search has to split boxes

  const int n_features = hard ? random.between(5, 8) : random.between(1, 6);
  int room = hard ? 3000 : random.chance(10) ? 1500 : 300;  // points of the space at most
  model.n_cells.assign(n_features, 1);
  model.ordered.assign(n_features, 1);
  model.gapped.assign(n_features, 0);
  std::vector<std::size_t> features(n_features);
  std::iota(features.begin(), features.end(), std::size_t{0});
  random.shuffle(features);
  for (const std::size_t f : features) {
    model.ordered[f] = random.chance(60);
    Cell n = hard ? random.between(2, 4) : random.chance(6) ? 1 : random.between(2, 6);
    if (!hard && !model.ordered[f] && random.chance(12)) n = random.pick(std::vector<Cell>{63, 64, 65, 100, 128, 130});
    model.n_cells[f] = std::min<Cell>(n, room);
    model.gapped[f] = !model.ordered[f] && model.n_cells[f] > 1 && random.chance(50);
    room /= model.n_cells[f];
  }

  Shape shape{hard ? random.between(12, 40) : random.between(1, 12),
              hard ? 5 : random.between(0, 4),
              random.pick(std::vector<int>{30, 70, 95}),
              {},
              {}};
  for (int f = 0; f < n_features; ++f) {
    if (random.chance(hard ? 100 : 85)) shape.features.push_back(f);
    shape.sets.emplace_back();
    for (int i = 0; i < 4; ++i) shape.sets.back().push_back(random_set(random, model.n_cells[f]));
  }
  auto kind = static_cast<Values>(random.below(kValues));
  if (model.vote == Vote::sum) {
    if (kind == Values::huge) kind = Values::near_ties;  // beyond the largest float
    if (random.chance(15)) kind = Values::outliers;
    model.sums = random_sums(random, kind, model.n_classes);
    Random apart = random;  // the same trees with and without members
    if (!model.sums.softmax && model.sums.sigmoid == 0 && apart.chance(kind == Values::outliers ? 10 : 40))
      random_members(apart, model.sums, shape.n_trees);
  }
  for (int t = 0; t < shape.n_trees; ++t) {
    if (t > 0 && random.chance(12)) {
      model.trees.push_back(Tree(random.pick(model.trees)));
      continue;
    }
    model.trees.emplace_back();
    grow(random, model, shape, kind, model.trees.back(), random.chance(6) ? 0 : shape.depth);
  }

  if (model.vote == Vote::sum) {
    score_sums(model, kind);
    return model;
  }
  if (model.vote == Vote::mean) {
    score(model, kind);
    if (model.band > 0 && random.chance(75)) count_whole_votes(model);  // a forest may also do without
    return model;
  }
  for (Tree& tree : model.trees)
    for (TwinNode& node : tree) {  // inner nodes have no votes
      node.scores.assign(model.n_classes, 0);
      if (node.feature >= 0) continue;
      const auto vote = std::max_element(node.values.begin(), node.values.end()) - node.values.begin();
      node.scores[vote] = 1;
    }
  return model;
}

// The forest that the core sees, and per node of it the twin's node.
inline Forest flatten(const Model& model, std::vector<const TwinNode*>& twins) {
  Forest forest;
  forest.n_features = model.n_features();
  forest.n_classes = model.n_classes;
  forest.n_cells = model.n_cells;
  forest.ordered = model.ordered;
  forest.gapped = model.gapped;
  forest.band = model.band;
  forest.exponent = model.exponent;
  forest.unit = model.unit;
  forest.vote = model.vote;
  forest.theta = model.theta;
  if (model.vote == Vote::sum) forest.sums = model.sums;
  // Features share a set of the same cells; it has the words of the largest of them.
  std::map<std::vector<Cell>, std::int32_t> known;
  std::vector<std::vector<Word>> sets;
  std::vector<std::int64_t> scores;
  std::vector<double> values;
  for (const Tree& tree : model.trees) {
    const auto base = static_cast<std::int32_t>(forest.nodes.size());
    forest.roots.push_back(base);
    for (const TwinNode& node : tree) {
      twins.push_back(&node);
      const bool leaf = node.feature < 0;
      forest.nodes.push_back({node.feature, -1, leaf ? -1 : base + node.left, leaf ? -1 : base + node.right});
      std::int32_t& cut = forest.nodes.back().cut;
      scores.insert(scores.end(), node.scores.begin(), node.scores.end());
      forest.exact.push_back(node.feature < 0 && node.exact);
      if (model.vote != Vote::majority) values.insert(values.end(), node.values.begin(), node.values.end());
      std::vector<Cell> cells;
      for (std::size_t cell = 0; cell < node.goes_left.size(); ++cell)
        if (node.goes_left[cell]) cells.push_back(static_cast<Cell>(cell));
      if (leaf) continue;
      if (model.ordered[node.feature]) {
        cut = static_cast<Cell>(cells.size()) - 1;
      } else if (model.is_gapped(node.feature)) {
        const Cell missing = node.goes_left.back();
        cut = 2 * (static_cast<Cell>(cells.size()) - missing) + missing;
      } else {
        const auto index = known.emplace(cells, static_cast<std::int32_t>(sets.size())).first->second;
        if (known.size() > sets.size()) sets.emplace_back();
        std::vector<Word>& words = sets[index];
        words.resize(std::max(words.size(), (node.goes_left.size() + 63) / 64));
        for (const Cell cell : cells) words[cell / 64] |= Word{1} << (cell % 64);
        cut = index;
      }
    }
  }
  for (const std::vector<Word>& words : sets) {
    forest.set_begin.push_back(forest.left_sets.size());
    forest.left_sets.insert(forest.left_sets.end(), words.begin(), words.end());
  }
  forest.scores = std::move(scores);
  forest.values = std::move(values);
  forest.derive();
  return forest;
}

// A model, the core's forest, and what the twin says about every point of the space.
struct Case {
  Model model;
  std::vector<const TwinNode*> twins;
  Forest forest;
  std::vector<Point> points;  // all of them; the last feature changes fastest
  std::vector<std::vector<const TwinNode*>> leaves;  // per point and tree
  std::vector<std::vector<std::int64_t>> sums;  // per point and class
  std::vector<std::int64_t> bands;  // per point: none where all leaves are exact
  std::vector<int> labels;  // per point

  explicit Case(Model given) : model(std::move(given)), forest(flatten(model, twins)) {
    std::size_t n_points = 1;
    for (const Cell n : model.n_cells) n_points *= n;
    Point point(model.n_cells.size());
    for (std::size_t i = 0; i < n_points; ++i) {
      std::size_t rest = i;
      for (std::size_t f = point.size(); f-- > 0; rest /= model.n_cells[f])
        point[f] = static_cast<Cell>(rest % model.n_cells[f]);
      points.push_back(point);
      evaluate(point);
    }
  }
  Case(const Case&) = delete;  // the twins point into the model

  Allowed full() const {
    Allowed all;
    for (const Cell n : model.n_cells) {
      all.emplace_back(n);
      std::iota(all.back().begin(), all.back().end(), 0);
    }
    return all;
  }

  std::size_t index(const Point& point) const {
    std::size_t at = 0;
    for (std::size_t f = 0; f < point.size(); ++f) at = at * model.n_cells[f] + point[f];
    return at;
  }

  // Indices of the points of a box.
  std::vector<std::size_t> inside(const Allowed& allowed) const {
    std::vector<std::size_t> found{0};
    for (std::size_t f = 0; f < allowed.size(); ++f) {
      std::vector<std::size_t> more;
      for (const std::size_t at : found)
        for (const Cell cell : allowed[f]) more.push_back(at * model.n_cells[f] + cell);
      found = std::move(more);
    }
    return found;
  }

 private:
  // The label that sums give, in the model's own numbers.
  template <typename Number>
  static std::vector<double> in(const Member& member, std::vector<double> totals) {
    for (double& total : totals)
      total = static_cast<Number>(total) / static_cast<Number>(member.divisor) * static_cast<Number>(member.weight);
    return totals;
  }

  // The sums of some trees in their own numbers, of which the first `n_members` may be parts.
  template <typename Number>
  std::vector<double> added(const std::vector<const TwinNode*>& reached, int first, int last, std::size_t n_members,
                            const std::vector<double>& start) const {
    std::vector<double> totals = start;
    while (first < last) {
      std::vector<double> terms = reached[first]->values;
      std::size_t outer = n_members;  // the last member that begins here, which has the others as parts
      while (outer > 0 && model.sums.members[outer - 1].first != first) --outer;
      if (outer > 0) {
        const Member& member = model.sums.members[outer - 1];
        terms = member.single ? in<float>(member, added<float>(reached, first, member.last, outer - 1, member.start))
                              : in<double>(member, added<double>(reached, first, member.last, outer - 1, member.start));
        first = member.last - 1;
      }
      for (std::size_t k = 0; k < totals.size(); ++k)
        totals[k] = static_cast<Number>(totals[k]) + static_cast<Number>(terms[k]);
      ++first;
    }
    return totals;
  }

  template <typename Number>
  std::size_t label_of_sums(const std::vector<const TwinNode*>& reached) const {
    const Sums& sums = model.sums;
    std::vector<Number> totals;
    const int n_trees = static_cast<int>(reached.size());
    for (const double total : added<Number>(reached, 0, n_trees, sums.members.size(), sums.start))
      totals.push_back(static_cast<Number>(total) / static_cast<Number>(sums.divisor));
    if (sums.cut) {
      std::size_t n_reached = 0;
      for (const double cut : sums.cuts) n_reached += static_cast<double>(totals[0]) >= cut;
      return n_reached;
    }
    if (sums.softmax) {
      Number highest = totals[0];
      for (const Number total : totals) highest = total > highest ? total : highest;
      double whole = 0;
      for (Number& total : totals) whole += static_cast<double>(total = std::exp(total - highest));
      for (Number& total : totals) total = total / static_cast<Number>(whole);
    }
    if (sums.sigmoid != 0)
      for (Number& total : totals)
        total = static_cast<Number>(1 / (1 + std::exp(-sums.sigmoid * static_cast<double>(total))));
    std::size_t best = 0;
    for (std::size_t k = 1; k < totals.size(); ++k)
      if (totals[k] > totals[best]) best = k;
    return best;
  }

  void evaluate(const Point& point) {
    std::vector<const TwinNode*> reached;
    std::vector<std::int64_t> sum(model.n_classes, 0);
    std::vector<double> total(model.n_sums(), 0.0);
    for (const Tree& tree : model.trees) {
      const TwinNode* node = &tree.front();
      while (node->feature >= 0) {
        const Cell cell = point[node->feature];
        node = &tree[node->goes_left[cell] ? node->left : node->right];
      }
      reached.push_back(node);
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += node->scores[k];
      for (std::size_t k = 0; k < total.size(); ++k) total[k] += node->values[k];
    }
    // The label: the first class with the most votes or the largest mean, where a NaN counts as larger than any number.
    std::size_t best = 0;
    if (model.vote == Vote::sum) {
      best = model.sums.single ? label_of_sums<float>(reached) : label_of_sums<double>(reached);
    }
    for (std::size_t k = 1; model.vote != Vote::sum && k < sum.size(); ++k) {
      const double mean = total[k] / double(model.trees.size()), least = total[best] / double(model.trees.size());
      const bool larger = !std::isnan(least) && (std::isnan(mean) || mean > least);
      if (model.vote == Vote::majority ? sum[k] > sum[best] : larger) best = k;
    }
    const bool all_exact =
        std::all_of(reached.begin(), reached.end(), [](const TwinNode* leaf) { return leaf->exact; });
    bands.push_back(all_exact ? 0 : model.band);
    leaves.push_back(std::move(reached));
    sums.push_back(std::move(sum));
    labels.push_back(static_cast<int>(best));
  }
};

inline Point random_point(Random& random, const Allowed& allowed) {
  Point point;
  for (const std::vector<Cell>& cells : allowed) point.push_back(random.pick(cells));
  return point;
}

// Some features fixed, some narrowed, some free.
inline Allowed random_box(Random& random, const Case& c, int percent_free = 40) {
  Allowed allowed = c.full();
  for (std::size_t f = 0; f < allowed.size(); ++f) {
    std::vector<Cell>& cells = allowed[f];
    if (random.chance(percent_free)) continue;
    if (random.chance(50)) {
      cells = {random.pick(cells)};
    } else if (c.model.ordered[f] || c.model.is_gapped(f)) {
      const Cell one = random.pick(cells), other = random.pick(cells), missing = c.model.n_cells[f] - 1;
      std::erase_if(cells, [&](Cell cell) { return cell < std::min(one, other) || cell > std::max(one, other); });
      if (c.model.is_gapped(f) && cells.back() < missing && random.chance(30)) cells.push_back(missing);
    } else {
      const Cell certain = random.pick(cells);
      std::erase_if(cells, [&](Cell cell) { return cell != certain && random.chance(50); });
    }
  }
  return allowed;
}

inline bool violates(Claim claim, int label) {
  return claim.kind == ClaimKind::stays ? label != claim.label : label == claim.label;
}

// Whether a claim holds everywhere in a box, by enumeration.
inline bool holds(const Case& c, const Allowed& allowed, Claim claim) {
  for (const std::size_t x : c.inside(allowed))
    if (violates(claim, c.labels[x])) return false;
  return true;
}

// One cell more for a feature; an ordered one stays without holes, and so do the numbers of a gapped one.
inline void widen(Random& random, const Case& c, std::vector<Cell>& cells, std::size_t f) {
  std::vector<Cell> more;
  if (c.model.is_gapped(f)) {
    const Cell missing = c.model.n_cells[f] - 1;
    const bool has_missing = cells.back() == missing;
    const Cell n_numbers = static_cast<Cell>(cells.size()) - has_missing;
    if (!has_missing) more.push_back(missing);
    for (Cell cell = 0; cell < missing; ++cell)
      if (n_numbers == 0 || cell == cells.front() - 1 || cell == cells[n_numbers - 1] + 1) more.push_back(cell);
    if (more.empty()) return;
    cells.push_back(random.pick(more));
    std::sort(cells.begin(), cells.end());
    return;
  }
  for (Cell cell = 0; cell < c.model.n_cells[f]; ++cell)
    if (c.model.ordered[f] ? cell == cells.front() - 1 || cell == cells.back() + 1
                           : !std::binary_search(cells.begin(), cells.end(), cell))
      more.push_back(cell);
  if (more.empty()) return;
  cells.push_back(random.pick(more));
  std::sort(cells.begin(), cells.end());
}

// A box around a point, about as large as it can be while the claim holds; sometimes one cell larger. Here it matters
// most what a proof used, and a witness is hard to find.
inline Allowed tight_box(Random& random, const Case& c, const Point& point, Claim claim) {
  Allowed allowed;
  for (const Cell cell : point) allowed.push_back({cell});
  std::vector<std::size_t> features(point.size());
  std::iota(features.begin(), features.end(), std::size_t{0});
  for (int round = 0; round < 3; ++round) {
    random.shuffle(features);
    for (const std::size_t f : features) {
      Allowed wider = allowed;
      if (round == 0 && random.chance(60)) {
        wider[f] = c.full()[f];
      } else {
        for (int i = random.between(1, 1 + c.model.n_cells[f] / 4); i > 0; --i) widen(random, c, wider[f], f);
      }
      if (holds(c, wider, claim)) allowed = std::move(wider);
    }
  }
  if (random.chance(30)) widen(random, c, allowed[features[0]], features[0]);
  return allowed;
}

inline Claim random_claim(Random& random, const Case& c) {
  // Mostly about a class that occurs, so that the answer is not obvious.
  const int label = random.chance(70) ? random.pick(c.labels) : random.below(c.model.n_classes);
  return {random.chance(60) ? ClaimKind::stays : ClaimKind::never, label};
}

// A claim that holds at a point.
inline Claim true_claim(Random& random, const Case& c, const Point& point) {
  const int label = c.labels[c.index(point)];
  if (c.model.n_classes == 1 || random.chance(65)) return {ClaimKind::stays, label};
  return {ClaimKind::never, (label + 1 + random.below(c.model.n_classes - 1)) % c.model.n_classes};
}

struct Query {
  Allowed allowed;
  Claim claim;
};

inline Query random_query(Random& random, const Case& c) {
  if (random.chance(50)) return {random_box(random, c, random.between(20, 90)), random_claim(random, c)};
  const Point& point = random.pick(c.points);
  const Claim claim = true_claim(random, c, point);
  return {tight_box(random, c, point, claim), claim};
}

inline Box box_of(const Case& c, const Allowed& allowed) {
  Box box;
  box.sets.assign(c.forest.words_begin.back(), 0);
  for (std::size_t f = 0; f < allowed.size(); ++f) {
    box.low.push_back(c.model.ordered[f] ? allowed[f].front() : 0);
    box.high.push_back(c.model.ordered[f] ? allowed[f].back() : 0);
    box.missing.push_back(c.model.is_gapped(f) && allowed[f].back() == c.model.n_cells[f] - 1);
    if (c.model.is_gapped(f)) {
      const std::size_t n_numbers = allowed[f].size() - box.missing[f];
      if (n_numbers == 0) {
        box.remove_numbers(static_cast<int>(f));
      } else {
        box.low[f] = allowed[f].front();
        box.high[f] = allowed[f][n_numbers - 1];
      }
      continue;
    }
    if (c.model.ordered[f]) continue;
    for (const Cell cell : allowed[f]) box.sets[c.forest.words_begin[f] + cell / 64] |= Word{1} << (cell % 64);
  }
  return box;
}

// The cells of a box, also of one that is empty.
inline Allowed allowed_of(const Case& c, const Box& box) {
  Allowed allowed(c.model.n_cells.size());
  for (std::size_t f = 0; f < allowed.size(); ++f) {
    if (c.model.ordered[f] || c.model.is_gapped(f)) {
      for (Cell cell = box.low[f]; cell <= box.high[f]; ++cell) allowed[f].push_back(cell);
      if (box.missing[f]) allowed[f].push_back(c.model.n_cells[f] - 1);
      continue;
    }
    // To the end of the last word, so that bits which stand for no cell are seen too.
    for (std::size_t bit = 0; bit < 64 * (c.forest.words_begin[f + 1] - c.forest.words_begin[f]); ++bit)
      if ((box.sets[c.forest.words_begin[f] + bit / 64] >> (bit % 64)) & 1U)
        allowed[f].push_back(static_cast<Cell>(bit));
  }
  return allowed;
}

}  // namespace treeproof::testing
