// Scores as small integers: never less than the exact sums.
#include "../scale.hpp"
#include "checks.hpp"

namespace treeproof::testing {

// The power of two that scores are divided by so that the largest becomes about 2^kBits.
int widest_shift(const Case& c) {
  std::int64_t largest = 1;
  for (const TwinNode* node : c.twins)
    if (node->feature < 0)
      for (const std::int64_t score : node->scores) largest = std::max(largest, std::abs(score));
  return largest == 1 ? -Scale::kBits
                      : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(largest))) - Scale::kBits;
}

bool cuts_off(const Case& c) { return c.forest.scale.shift() < widest_shift(c); }

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

// A scale of the values of leaves: as exact as it says, and no point that wins a pair is below the target.
void check_finer_scale(const Case& c) {
  if (!c.forest.finer) return;
  const Scale& scale = *c.forest.finer;
  ++counts.finer_scales;
  for (int k = 1; k < c.model.n_classes; ++k) {
    for (const Pair pair : {Pair{k, k - 1}, Pair{k - 1, k}}) {
      const std::int64_t target = scale.target(c.forest, pair), exact_target = scale.exact_target(c.forest, pair);
      CHECK(target <= exact_target, "the target with a band is not larger");
      for (std::size_t x = 0; x < c.points.size(); ++x) {
        const std::int64_t sum = finer_sum(c, x, pair);
        counts.finer_losses += sum < target;
        CHECK(sum >= target || !takes_label(c, x, pair), "a sum of values below the target wins nowhere");
        CHECK(sum >= exact_target || !all_exact(c, x) || !takes_label(c, x, pair),
              "nor where all leaves are exact, below the target of these");
      }
    }
  }
}

void check_scale(Random& random, const Case& c) {
  if (c.model.n_classes < 2) return;
  check_finer_scale(c);
  const int shift = c.forest.scale.shift();
  CHECK(shift == widest_shift(c) || (cuts_off(c) && shift > 0), "values are as large as they can be, or cut off");
  counts.outliers += cuts_off(c);
  const auto check_value = [&](std::int64_t exact) {
    const std::int64_t value = c.forest.scale.value(exact);
    CHECK(covers(value, exact, shift) || (cuts_off(c) && value == Scale::kHighest),
          "a scaled value is at least the exact one");
    CHECK(!covers(value - 1, exact, shift) || (cuts_off(c) && value == Scale::kLowest),
          "a scaled value is the least integer above the exact one");
    ++counts.scaled_values;
  };
  for (int i = 0; i < 3; ++i) {
    const Pair pair = random_pair(random, c);
    for (const TwinNode* node : c.twins)
      if (node->feature < 0) check_value(node->scores[pair.winner] - node->scores[pair.loser]);
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

// Where one class is far in front, the leaf that turns that round must not be cut off short of it.
void check_huge_scores_reach_far_targets() {
  constexpr std::int64_t kOne = std::int64_t{1} << 24;
  for (const std::int64_t far : {100, 1000, 1023, 1025, 5000, 100000}) {
    for (const bool second : {false, true}) {  // which class is in front
      Model model;
      model.vote = Vote::sum;
      model.n_classes = 2;
      model.n_cells = {2, 2};
      model.ordered = {1, 1};
      model.sums.start = {second ? 0.0 : static_cast<double>(far), second ? static_cast<double>(far) : 0.0};
      const std::int64_t ahead = second ? -far * kOne : far * kOne;
      model.theta = {1, -ahead, 1 + ahead, 1};
      model.trees = {stump(0, {true, false}, 0, 1)};
      for (int t = 0; t < 4; ++t) model.trees.push_back(stump(1, {true, false}, t % 2, 1 - t % 2));
      for (Tree& tree : model.trees) {
        const std::int64_t size = &tree == model.trees.data() ? far : 1;
        for (TwinNode& node : tree) {
          for (double& value : node.values) value *= static_cast<double>(size);
          for (std::int64_t& score : node.scores) score *= size * kOne;
        }
      }
      const Case c(std::move(model));
      CHECK(cuts_off(c), "one leaf is far larger than the others");
      for (const int label : {0, 1})
        for (const ClaimKind kind : {ClaimKind::stays, ClaimKind::never}) {
          const Claim claim{kind, label};
          check_outcome(c, c.full(), claim, Searcher(c.forest).decide(Box::full(c.forest), claim, {0, 0}, never_stop));
        }
    }
  }
}

// Where one huge leaf has to reach a cut far beyond the usual ones, it is cut off only as far as it still does: with a
// finer unit its wins would seem out of reach.
void check_huge_leaves_reach_far_cuts() {
  for (const double cut : {1e2, 1023.0, 1024.0, 1025.0, 1e4, 1e8, 1e12, -1e2, -1024.0, -1e8, -1e12}) {
    Model model;
    model.vote = Vote::sum;
    model.n_classes = 2;
    model.n_cells = {2, 2};
    model.ordered = {1, 1};
    model.sums.cut = true;
    model.sums.start = {0.0};
    model.sums.cuts = {cut};
    model.trees = {stump(0, {true, false}, 0, 1)};
    for (int t = 0; t < 3; ++t) model.trees.push_back(stump(1, {true, false}, 0, 1));
    for (Tree& tree : model.trees)
      for (TwinNode& node : tree) {
        const bool counts = node.feature < 0 && node.scores[0] == 1;
        node.values = {counts ? (&tree == model.trees.data() ? std::copysign(1e15, cut) : 0.1) : 0.0};
        node.scores.clear();
      }
    score_sums(model, Values::huge);
    const Case c(std::move(model));
    CHECK(c.forest.finer.has_value() == (std::fabs(cut) < 1e12), "a finer scale, unless none finer reaches the cut");
    check_finer_scale(c);
    for (const int label : {0, 1}) {
      const Claim claim{ClaimKind::stays, label};
      check_outcome(c, c.full(), claim, Searcher(c.forest).decide(Box::full(c.forest), claim, {0, 0}, never_stop));
    }
  }
}

}  // namespace treeproof::testing
