// The outline of a forest: the leaves that points of the box reach, also when it was made from an earlier one.
#include "../outline.hpp"
#include "checks.hpp"

namespace treeproof::testing {

// Checks a tree of an outline by enumeration, and that it is the one that is made afresh.
void check_tree(const Case& c, const Outline& outline, std::size_t t, const Outline& fresh,
                const std::vector<std::size_t>& inside) {
  const Outline::Tree& tree = outline.trees[t];
  const auto& [forks, gates] = *tree.growth;
  const auto same = [&](std::int32_t one, std::int32_t other) {
    if (one == other) return true;
    return one < 0 && other < 0 && !c.forest.leaf_class.empty() &&
           c.forest.leaf_class[~one] == c.forest.leaf_class[~other];
  };
  CHECK(same(tree.root, fresh.trees[t].root), "an outline that follows has the roots of a fresh one");
  if (tree.root < 0) return;
  const auto& [fresh_forks, fresh_gates] = *fresh.trees[t].growth;
  CHECK(forks.size() == fresh_forks.size() && gates.size() == fresh_gates.size(), "and as many forks and gates");
  for (std::size_t i = 0; i < forks.size(); ++i) {
    const Outline::Fork &own = forks[i], &other = fresh_forks[i];
    CHECK(same(own.left, other.left) && same(own.right, other.right) && own.node == other.node &&
              own.gate == other.gate && own.left_end == other.left_end && own.right_begin == other.right_begin,
          "and the same forks");
    const int f = c.forest.nodes[own.node].feature;
    CHECK((tree.features[f / 64] >> (f % 64)) & 1U, "and knows their features");
  }
  Flags left(forks.size()), right(forks.size());
  for (const std::size_t x : inside) {
    std::int32_t at = tree.root;
    while (at >= 0) {
      const TwinNode& twin = *c.twins[forks[at].node];
      const bool goes = twin.goes_left[c.points[x][twin.feature]];
      (goes ? left : right)[at] = 1;
      at = goes ? forks[at].left : forks[at].right;
    }
    CHECK(same(at, ~c.forest.leaf(c.forest.roots[t], c.points[x])),
          "an outline leads to the leaf of the point, or to one with its vote");
  }
  for (std::size_t i = 0; i < forks.size(); ++i) CHECK(left[i] && right[i], "a fork goes both ways in the box");
}

void check_outline(const Case& c, const Outline& outline, const Box& box, const std::vector<std::size_t>& inside) {
  Outliner outliner(c.forest);
  Outline fresh;
  outliner.follow(fresh, box);
  CHECK(std::all_of(fresh.changed.begin(), fresh.changed.end(), [&](std::uint64_t when) { return when == fresh.now; }),
        "a fresh outline walks every tree");
  for (std::size_t t = 0; t < c.forest.roots.size(); ++t) check_tree(c, outline, t, fresh, inside);
  std::vector<std::int32_t> leaves;
  for (const std::size_t x : inside) {
    find_leaves(c.forest, outline, c.points[x], leaves);
    CHECK(c.forest.label_of_leaves(leaves) == c.forest.label(c.points[x]), "its leaves give the point its label");
    CHECK(!c.forest.leaf_class.empty() || leaves == c.forest.leaves(c.points[x]), "and are those of the point");
  }
  if (outline.decided.empty()) return;  // not that of a whole query
  for (std::size_t t = 0; t < c.forest.roots.size() && !c.forest.leaf_class.empty(); ++t) {
    Word votes = 0;
    for (const std::size_t x : inside)
      votes |= Word{1} << c.forest.leaf_class[c.forest.leaf(c.forest.roots[t], c.points[x])];
    CHECK(outline.votes[outline.state[t]] == votes, "the votes of a tree are those of its points");
  }
  const std::size_t n_words = fresh.open.size() / fresh.own.size();
  for (std::size_t t = 0; t < c.forest.roots.size(); ++t)
    CHECK(std::equal(fresh.trees[t].features, fresh.trees[t].features + n_words, outline.trees[t].features),
          "the features of its forks are known");
  ++counts.outlines;
}

// An outline that had to stop, after another box, is made anew.
void check_stopped_outline(const Case& c, const Box& box, const std::vector<std::size_t>& inside) {
  Outliner outliner(c.forest, 1);
  Outline outline, inner;
  int polls = 0;
  const std::function<bool()> second = [&] { return ++polls == 2; };
  CHECK(outliner.follow(outline, Box::full(c.forest)), "nobody told it to stop");
  const bool followed = outliner.follow(outline, box, &second);
  CHECK(followed == (polls < 2) && followed == !outline.trees.empty(), "it stops when it is told to");
  CHECK(outliner.follow(outline, box), "nobody told it to stop");
  check_outline(c, outline, box, inside);
  CHECK(outliner.follow(outline, Box::full(c.forest)), "nobody told it to stop");
  const Flags restricted(box.low.size(), 1);
  Flags used(box.low.size(), 0);
  polls = 0;
  const bool narrowed = outliner.follow(inner, box, outline, restricted, used, &second);
  CHECK(narrowed == (polls < 2), "within another it stops, too");
  CHECK(outliner.follow(inner, box, outline, restricted, used), "nobody told it to stop");
  check_outline(c, inner, box, inside);
  counts.outlines_stopped += !followed && !narrowed;
}

}  // namespace treeproof::testing
