// What the model's own additions can make of a box: bands, and sums from below and above.
#include "../rounding.hpp"
#include "checks.hpp"

namespace treeproof::testing {

// What the model's own additions at a point are off, each by itself [Knuth, TAOCP 2, 4.2.2], and its divisions; of the
// sums that a pair compares.
template <typename Number>
double errors_at(const Case& c, std::size_t x, Pair pair) {
  const Sums& sums = c.forest.sums;
  double errors = 0;
  for (const int k : sums.cut ? std::vector<int>{0} : std::vector<int>{pair.winner, pair.loser}) {
    auto sum = static_cast<Number>(sums.start[k]);
    for (const TwinNode* leaf : c.leaves[x]) {
      const auto term = static_cast<Number>(leaf->values[k]);
      const Number next = sum + term, part = next - sum;
      errors += std::fabs(static_cast<double>((sum - (next - part)) + (term - part)));
      sum = next;
    }
    const auto divisor = static_cast<Number>(sums.divisor), quotient = sum / divisor;
    if (std::isnormal(quotient))  // others are off by less than a unit of scores, which a band has in it anyway
      errors += std::fabs(static_cast<double>(std::fma(quotient, divisor, -sum)));
  }
  return errors;
}

double errors_at(const Case& c, std::size_t x, Pair pair) {
  return c.forest.sums.single ? errors_at<float>(c, x, pair) : errors_at<double>(c, x, pair);
}

// Two trees of one leaf each, the second of which is just above a power of two, and the first nearly half of what its
// last place is worth: the addition is off by nearly all that a float operation may be, and the division adds to that.
void check_rounding_of_quotients() {
  double most = 0;
  for (int i = 0; i < 300; ++i) {
    Model model;
    model.vote = Vote::sum;
    model.n_classes = 2;
    model.n_cells = {2};
    model.ordered = {1};
    model.sums.start = {0.0, 0.0};
    model.sums.divisor = i % 2 == 0 ? 3 : 7;
    for (const double value : {0.49 * 0x1p-52, 1 + i * 0x1p-52}) {
      TwinNode leaf;
      leaf.values = {value, 0.0};
      model.trees.push_back({leaf});
    }
    score_sums(model, Values::fractions);
    const Case c(std::move(model));
    Outliner outliner(c.forest);
    Outline outline;
    outliner.follow(outline, Box::full(c.forest));
    const double errors = errors_at(c, 0, {0, 1}), off = error_in(c.forest, outline, {0, 1});
    CHECK(errors <= off, "sums and quotients are off by no more than is said");
    most = std::max(most, errors);
  }
  CHECK(most > 1.2 * 0x1p-53, "some are off by more than one operation may be");
}

// Sums that differ in their last places and are divided by a million have the same softmax: the first class wins,
// although it is behind.
void check_rounding_before_softmax() {
  std::int64_t most = 0;
  for (int i = 0; i < 4000000; i += 20000) {
    Model model;
    model.vote = Vote::sum;
    model.n_classes = 2;
    model.n_cells = {2};
    model.ordered = {1};
    model.sums.start = {0.0, 0.0};
    model.sums.divisor = 1e6;
    model.sums.softmax = true;
    TwinNode leaf;
    leaf.values = {1.0, 1 + i * 0x1p-52};
    model.trees.push_back({leaf});
    score_sums(model, Values::fractions);
    const Case c(std::move(model));
    const Pair pair{0, 1};
    Outliner outliner(c.forest);
    Outline outline;
    outliner.follow(outline, Box::full(c.forest));
    if (!takes_label(c, 0, pair)) continue;
    const std::int64_t behind = c.model.least(0, 1) - difference(c, 0, pair);
    CHECK(behind <= band_in(c.forest, outline, pair), "who has the label is behind by no more than the band");
    most = std::max(most, behind);
  }
  CHECK(most > 10, "some are behind");
}

void check_rounding(Random& random, const Case& c) {
  if (c.model.n_classes < 2 || c.model.band == 0) return;
  for (int i = 0; i < 3; ++i) {
    const Allowed allowed = random_box(random, c, random.between(20, 90));
    const Box box = box_of(c, allowed);
    const Pair pair = random_pair(random, c);
    if (!c.forest.are_rivals(pair.winner, pair.loser)) continue;
    const Flags restricted = restricted_of(c, allowed);
    Flags used(restricted.size(), 0);
    Outliner outliner(c.forest);
    Outline outline;
    outliner.follow(outline, box);
    outliner.mark(outline, restricted, used);
    const std::int64_t band = band_in(c.forest, outline, pair);
    CHECK(band <= c.model.band, "a band of a box is not wider than that of the forest");
    counts.narrow_bands += band < c.model.band;
    CHECK(is_subset(used, restricted), "only restrictions can be used");
    const double off = error_in(c.forest, outline, pair);
    for (const std::size_t x : c.inside(relaxed(c, allowed, used))) {
      if (!std::isfinite(off)) break;
      const double errors = errors_at(c, x, pair);
      CHECK(errors <= off, "sums are off by no more than is said of the box");
      counts.rounded_sums += errors > 0;
    }
    const std::int64_t least = c.model.least(pair.winner, pair.loser);
    for (const std::size_t x : c.inside(relaxed(c, allowed, used)))
      CHECK(!takes_label(c, x, pair) || difference(c, x, pair) >= least - band,
            "who has the label is behind by no more than the band");

    if (c.forest.finer) {
      const Scale& scale = *c.forest.finer;
      const std::int64_t target = scale.target_in(c.forest, outline, pair);
      CHECK(target >= scale.target(c.forest, pair), "the target of a box is not smaller");
      counts.finer_targets += target > scale.target(c.forest, pair);
      for (const std::size_t x : c.inside(relaxed(c, allowed, used)))
        CHECK(finer_sum(c, x, pair) >= target || !takes_label(c, x, pair),
              "a sum of values below it wins nowhere in the box");
    }

    Terms terms;
    terms.start(c.forest, pair);
    const std::vector<std::size_t> inside = c.inside(allowed);
    for (const std::size_t x : inside)
      for (std::size_t t = 0; t < c.forest.roots.size(); ++t)
        terms.meet(t, c.forest.leaf(c.forest.roots[t], c.points[x]));
    const bool taken =
        std::any_of(inside.begin(), inside.end(), [&](std::size_t x) { return takes_label(c, x, pair); });
    const bool never = terms.never_wins(pair);
    CHECK(!never || !taken, "who has the label somewhere is not said never to win");
    if (inside.size() == 1 && !c.model.sums.softmax && c.model.sums.sigmoid == 0 && !taken && c.model.n_classes == 2) {
      const std::vector<double> sums = c.forest.float_sums(c.points[inside[0]]);
      const bool finite = std::all_of(sums.begin(), sums.end(), [](double sum) { return std::isfinite(sum); });
      CHECK(never || !finite, "at one point, sums of two classes decide");
    }
    counts.never_wins += never;
  }
}

}  // namespace treeproof::testing
