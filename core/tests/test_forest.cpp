// The forest over cells: labels, depth and the softmax, by the twin's own sums.
#include <type_traits>

#include "../forest.hpp"
#include "../table.hpp"
#include "checks.hpp"

namespace treeproof::testing {

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
    const std::size_t words = c.model.ordered[f] || c.model.is_gapped(f) ? 0 : (c.model.n_cells[f] + 63) / 64;
    CHECK(c.forest.words_begin[f + 1] - c.forest.words_begin[f] == words, "a set has a bit for every value");
  }
  std::vector<int> level(c.twins.size(), 1);
  for (std::size_t n = 0; n < level.size(); ++n)
    if (const Node& node = c.forest.nodes[n]; node.feature >= 0) level[node.left] = level[node.right] = level[n] + 1;
  CHECK(c.forest.depth == *std::max_element(level.begin(), level.end()), "the depth is that of the longest path");
  for (int k = 0; k < c.model.n_classes; ++k)
    for (int j = 0; j < c.model.n_classes; ++j)
      CHECK(k == j || c.forest.least(k, j) == c.model.least(k, j),
            "ties go to the first class, or as starts and cuts say");
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
          check_outcome(c, allowed, claim,
                        Searcher(c.forest).decide(box_of(c, allowed), claim, c.points[x], never_stop));
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

    // The rule by which pairs decide, at its boundary: the first class, which wins ties, is behind the second by the
    // least that is more than the gap. The others may be anywhere, also ahead of both.
    Sums rule;
    rule.single = std::is_same_v<Number, float>;
    if (sums.size() > 2 && i % 3 == 0) sums[2] = base + static_cast<Number>(i) / Number{7};
    sums[1] = base;
    sums[0] = base - static_cast<Number>(rule.softmax_gap());
    while (!(static_cast<double>(base) - static_cast<double>(sums[0]) > rule.softmax_gap()))
      sums[0] = std::nextafter(sums[0], Number{-100});
    CHECK(softmax_label(sums) != 0, "who is behind by more than the gap does not have the label");
    const Number next = std::nextafter(Number{1} / 4, Number{0});
    CHECK(softmax_label(std::vector<Number>{next, Number{1} / 4}) == 0, "without a gap the rule would be wrong");
  }
}

template void check_softmax<float>(Random& random);
template void check_softmax<double>(Random& random);

}  // namespace treeproof::testing
