// What a box leaves undecided: the same value at every point, in the shape that is promised.
#include <iterator>

#include "../residual.hpp"
#include "../scale.hpp"
#include "checks.hpp"

namespace treeproof::testing {

// What a walk of points through a residual forest meets.
struct Walk {
  Flags went_left, went_right;  // per node
  bool inexact = false;         // the last point reached a value that needs the band
};

// Walks a residual forest with the twin's splits.
std::int64_t residual_value(const Case& c, const Residual& r, const Point& point, Walk* walk) {
  std::int64_t sum = r.offset;
  if (walk != nullptr) walk->inexact = r.offset_inexact;
  for (std::int32_t at : r.roots) {
    while (at >= 0) {
      const TwinNode& twin = *c.twins[r.nodes[at].origin];
      const bool left = twin.goes_left[point[twin.feature]];
      if (walk != nullptr) (left ? walk->went_left : walk->went_right)[at] = 1;
      at = left ? r.nodes[at].left : r.nodes[at].right;
    }
    sum += r.constants[~at];
    if (walk != nullptr) walk->inexact = walk->inexact || r.inexact[~at];
  }
  for (std::size_t f = 0; f < point.size(); ++f) sum += absorbed_value(c, r, f, point[f]);
  return sum;
}

std::int64_t absorbed_value(const Case& c, const Residual& r, std::size_t f, Cell cell) {
  std::int64_t sum = 0;
  for (std::size_t s = 0; s < r.slot_node.size(); ++s) {
    const TwinNode& twin = *c.twins[r.slot_node[s]];
    if (twin.feature == static_cast<int>(f) && !twin.goes_left[cell]) sum += r.slot_turn[s];
  }
  return sum;
}

// `most_gates` of one made from another may be that of the other.
void check_shape(const Case& c, const Residual& r, const Allowed& allowed, bool narrowed) {
  for (std::int32_t n = 0; n < r.n_nodes(); ++n)
    for (const std::int32_t child : {r.nodes[n].left, r.nodes[n].right})
      CHECK(child < n && ~child < r.n_constants(), "children are constants or earlier nodes");
  for (const std::int32_t root : r.roots) CHECK(root >= 0 && root < r.n_nodes(), "a tree that is left has a node");
  CHECK(r.slot_begin.size() == r.features.size() + 1 &&
            r.slot_begin.back() == static_cast<std::int32_t>(r.slot_node.size()),
        "slot_begin has one entry more than features");
  CHECK(r.slot_turn.size() == r.slot_node.size(), "every split has what absorbed trees add behind it");
  for (std::size_t i = 0; i < r.features.size(); ++i) {
    const std::int32_t f = r.features[i];
    CHECK(i == 0 || r.features[i - 1] < f, "features ascend");
    CHECK(r.slot_begin[i] < r.slot_begin[i + 1], "a feature that occurs has splits");
    for (std::int32_t s = r.slot_begin[i]; s < r.slot_begin[i + 1]; ++s) {
      const TwinNode& twin = *c.twins[r.slot_node[s]];
      CHECK(twin.feature == f, "splits are sorted by feature");
      CHECK(c.forest.nodes[r.slot_node[s]].cut == r.slot_cut[s], "a split has the cut of its node");
      CHECK(!(c.model.ordered[f] || c.model.is_gapped(f)) || s == r.slot_begin[i] || r.slot_cut[s - 1] < r.slot_cut[s],
            "splits of an ordered feature ascend");
      bool left = false, right = false;
      for (const Cell cell : allowed[f]) (twin.goes_left[cell] ? left : right) = true;
      CHECK(left && right, "a split that is left is open in the box");
      CHECK(c.model.ordered[f] || r.slot_turn[s] == 0, "trees of ordered features alone are absorbed");
    }
  }
  for (std::int32_t n = 0; n < r.n_nodes(); ++n) {
    const Residual::Fork& fork = r.nodes[n];
    const TwinNode &own = *c.twins[fork.origin], &shared = *c.twins[r.slot_node[fork.slot]];
    CHECK(own.feature == shared.feature && own.goes_left == shared.goes_left, "nodes of one slot make the same split");
    const std::int32_t gate = fork.gate;
    CHECK(gate >= 0 && gate < r.n_gates() && r.gate_slot[gate] == fork.slot, "a node has the gate of its split");
    CHECK(r.gate_origin[gate] == c.forest.gate[fork.origin], "and of its tree");
    CHECK(0 <= fork.right_begin && fork.right_begin <= gate && gate < fork.left_end && fork.left_end <= r.n_gates(),
          "what a side implies begins and ends at its gate");
  }
  for (std::int32_t g = 1; g < r.n_gates(); ++g)
    CHECK(r.gate_origin[g - 1] < r.gate_origin[g], "gates ascend, each of them once");
  std::size_t singles = 0;
  for (std::size_t i = 0; i < r.features.size(); ++i) {
    const std::int32_t f = r.features[i];
    const std::int32_t slot = r.slot_begin[i];
    const bool absorbed = r.slot_begin[i + 1] > slot + 1 || r.slot_turn[slot] != 0;
    singles += c.forest.ordered[f] && !absorbed &&
               1 == std::count_if(r.nodes.begin(), r.nodes.end(),
                                  [&](const Residual::Fork& fork) { return c.twins[fork.origin]->feature == f; });
  }
  CHECK(r.singles.size() == singles, "the only nodes of their features are known");
  for (const auto& [node, i] : r.singles)
    CHECK(c.twins[r.nodes[node].origin]->feature == r.features[i], "and their features");
  std::int32_t most = 0;
  for (std::size_t t = 0; t < c.forest.roots.size(); ++t)
    most = std::max(most, static_cast<std::int32_t>(
                              std::count_if(r.gate_origin.begin(), r.gate_origin.end(), [&](std::int32_t gate) {
                                return c.forest.gate_begin[t] <= gate && gate < c.forest.gate_begin[t + 1];
                              })));
  CHECK(narrowed ? r.most_gates >= most : r.most_gates == most, "the most gates of a tree are known");
}

// A box that differs from the one before in some features.
Allowed changed(Random& random, const Case& c, const Allowed& before) {
  Allowed allowed = random_box(random, c, random.between(20, 90));
  for (std::size_t f = 0; f < before.size(); ++f)
    if (random.chance(60)) allowed[f] = before[f];
  return allowed;
}

// A box within another.
Allowed inside_of(Random& random, const Case& c, const Allowed& around) {
  Allowed allowed = random_box(random, c, random.between(20, 90));
  for (std::size_t f = 0; f < around.size(); ++f) {
    std::vector<Cell> both;
    std::set_intersection(allowed[f].begin(), allowed[f].end(), around[f].begin(), around[f].end(),
                          std::back_inserter(both));
    if (both.empty() || random.chance(50)) both = around[f];
    allowed[f] = both;
  }
  return allowed;
}

Residual residual_of(const Case& c, const Box& box, Pair pair, bool absorbs) {
  Outliner outliner(c.forest);
  Outline outline;
  outliner.follow(outline, box);
  Residual residual;
  ResidualBuilder(c.forest).build(residual, outline, pair, nullptr, absorbs);
  return residual;
}

// A builder that had to stop is as good as new.
void check_stopped(const Case& c, const Outline& outline, Pair pair, bool absorbs, const Residual& expected) {
  ResidualBuilder builder(c.forest, 1);
  Residual residual;
  int undecided = 0;  // of the trees that matter to the pair
  for (std::size_t t = 0; t < outline.trees.size(); ++t)
    undecided += outline.trees[t].root >= 0 && c.forest.contested(t, pair);
  // It asks before each of them, before it numbers what they have in common, and afterwards.
  const int most = undecided + 2 * !expected.nodes.empty();
  for (const int last : {1, 2, std::max(most, 1), most + 1}) {
    int polls = 0;
    const std::function<bool()> must_stop = [&] { return ++polls == last; };
    const bool built = builder.build(residual, outline, pair, &must_stop, absorbs);
    CHECK(built == (most < last), "it stops when it is told to");
    CHECK(polls == std::min(last, most), "and asks once for each part");
    CHECK(builder.build(residual, outline, pair, nullptr, absorbs), "nobody told it to stop");
    CHECK(residual.offset == expected.offset && residual.constants == expected.constants, "the same values");
    CHECK(residual.roots == expected.roots && residual.features == expected.features, "the same trees");
    CHECK(residual.slot_node == expected.slot_node && residual.gate_slot == expected.gate_slot, "the same splits");
    CHECK(residual.slot_turn == expected.slot_turn, "the same trees absorbed");
  }
}

bool is_absorbable(const Case& c, const Residual& r, std::int32_t first, std::int32_t root) {
  const std::int32_t f = c.twins[r.nodes[root].origin]->feature;
  bool one_feature = c.model.ordered[f], exact = false, inexact = false;
  for (std::int32_t n = first; n <= root; ++n) {
    one_feature = one_feature && c.twins[r.nodes[n].origin]->feature == f;
    for (const std::int32_t child : {r.nodes[n].left, r.nodes[n].right})
      if (child < 0) (r.inexact[~child] ? inexact : exact) = true;
  }
  return one_feature && !(exact && inexact);
}

// If it absorbs, trees are left out that may be; nothing else changes.
void check_absorbed(const Case& c, const Outline& outline, Pair pair, bool absorbs, const Residual& r) {
  Residual plain;
  ResidualBuilder(c.forest).build(plain, outline, pair);
  std::vector<std::int32_t> stay, roots;
  std::int32_t first = 0;
  for (const std::int32_t root : plain.roots) {
    if (!absorbs || !is_absorbable(c, plain, first, root)) stay.push_back(plain.nodes[root].origin);
    first = root + 1;
  }
  for (const std::int32_t root : r.roots) roots.push_back(r.nodes[root].origin);
  CHECK(roots == stay, "trees of one ordered feature are absorbed, and no others");
  CHECK(r.slot_node == plain.slot_node, "their splits stay");
  counts.absorbed += r.roots.size() < plain.roots.size();
}

// Whatever it was made from, it is worth what the forest is at every point of its box. Made from another, it may keep
// nodes that splits of other sets of values decide, and take leaves as worth the same that were so in the box around.
void check_worth(const Case& c, Contest& contest, bool narrowed) {
  const Residual& r = contest.residual;
  for (const std::int32_t f : r.features)
    if (!c.forest.ordered[f]) contest.used[f] |= contest.restricted[f];
  check_shape(c, r, contest.allowed, narrowed);
  CHECK(is_subset(contest.used, contest.restricted), "only restrictions can be used");
  const int shift = c.forest.scale.shift();
  contest.inside = c.inside(contest.allowed);
  contest.values.clear();
  Walk walk{Flags(r.nodes.size()), Flags(r.nodes.size())};
  const bool some_inexact = c.model.band > 0 && std::any_of(contest.inside.begin(), contest.inside.end(),
                                                            [&](std::size_t x) { return !all_exact(c, x); });
  for (const std::size_t x : contest.inside) {
    const std::int64_t value = residual_value(c, r, c.points[x], &walk);
    contest.values.push_back(value);
    CHECK(walk.inexact || c.model.band == 0 || all_exact(c, x), "a residual forest knows which leaves need the band");
    CHECK(!walk.inexact || some_inexact || narrowed, "no leaf needs the band where a box reaches exact leaves only");
    CHECK(value == scaled_sum(c, x, contest.pair), "the residual forest is worth what the forest is");
    CHECK(covers(value, difference(c, x, contest.pair), shift) ||
              (value >= c.forest.scale.exact_target(c.forest, contest.pair) && cuts_off(c)),
          "the residual forest is worth at least the exact difference, or more than it takes to win");
  }
  const bool has_sets = std::count(c.forest.ordered.begin(), c.forest.ordered.end(), 0) > 0;
  for (std::size_t n = 0; n < r.nodes.size(); ++n)
    CHECK((walk.went_left[n] && walk.went_right[n]) || (narrowed && has_sets),
          "every node that is left goes both ways in the box");
  Flags needed = contest.used;  // what was restricted since then, the caller knows
  for (std::size_t f = 0; f < needed.size(); ++f) needed[f] |= !contest.restricted[f];
  for (const std::size_t x : c.inside(relaxed(c, contest.allowed, needed)))
    CHECK(residual_value(c, r, c.points[x]) == scaled_sum(c, x, contest.pair),
          "restrictions that were not used do not change the residual forest");
  ++counts.residuals;
}

void build(Random& random, const Case& c, Workshop& workshop, Contest& contest) {
  // As in a search for an explanation, a change is undone or built upon.
  if (workshop.outline.now % 2 == 0) workshop.before = contest.allowed;
  contest.allowed = changed(random, c, workshop.before);
  contest.pair = random_pair(random, c);
  contest.restricted = restricted_of(c, contest.allowed);
  contest.used.assign(contest.restricted.size(), 0);
  workshop.outliner.follow(workshop.outline, box_of(c, contest.allowed));
  workshop.outliner.mark(workshop.outline, contest.restricted, contest.used);
  check_outline(c, workshop.outline, box_of(c, contest.allowed), c.inside(contest.allowed));
  check_stopped_outline(c, box_of(c, contest.allowed), c.inside(contest.allowed));
  for (std::size_t t = 0; t < c.forest.roots.size(); ++t)
    counts.trees_put_back += workshop.outline.now > 1 && workshop.outline.changed[t] == workshop.outline.now &&
                             workshop.outline.state[t] == workshop.outline.base_state[t];
  const Outline* outline = &workshop.outline;
  for (Outline& inner : workshop.inner) {
    if (random.chance(50)) break;
    contest.allowed = inside_of(random, c, contest.allowed);
    workshop.outliner.follow(inner, box_of(c, contest.allowed), *outline, contest.restricted, contest.used);
    check_outline(c, inner, box_of(c, contest.allowed), c.inside(contest.allowed));
    outline = &inner;
  }
  contest.box = box_of(c, contest.allowed);
  contest.chained = c.forest.ordered;
  for (std::size_t f = 0; f < contest.chained.size(); ++f)
    contest.chained[f] |= c.forest.gapped[f] && !contest.box.missing[f];
  const bool absorbs = random.chance(50);
  workshop.builder.build(contest.residual, *outline, contest.pair, nullptr, absorbs);
  check_stopped(c, *outline, contest.pair, absorbs, contest.residual);
  check_absorbed(c, *outline, contest.pair, absorbs, contest.residual);
  check_worth(c, contest, false);
}

// A residual forest within another: nothing that may be absorbed, nor a gate without a node, is left.
void narrow(Random& random, const Case& c, Workshop& workshop, Contest& contest) {
  const Residual around = contest.residual;
  contest.allowed = inside_of(random, c, contest.allowed);
  contest.box = box_of(c, contest.allowed);
  workshop.builder.narrow(contest.residual, around, contest.box, contest.restricted, contest.used);
  const Residual& r = contest.residual;
  std::int32_t first = 0;
  for (const std::int32_t root : r.roots) {
    CHECK(!is_absorbable(c, r, first, root), "no tree is left that may be absorbed");
    first = root + 1;
  }
  for (std::int32_t g = 0; g < r.n_gates(); ++g)
    CHECK(std::any_of(r.nodes.begin(), r.nodes.end(), [&](const auto& fork) { return fork.gate == g; }),
          "a gate that is left has a node");
  bool some = false;
  for (std::size_t s = 0; s < r.slot_node.size(); ++s) {
    const auto was = std::find(around.slot_node.begin(), around.slot_node.end(), r.slot_node[s]);
    some = some || r.slot_turn[s] != around.slot_turn[was - around.slot_node.begin()];
  }
  check_worth(c, contest, true);
  counts.absorbed_within += some;
  ++counts.narrowed;
}

}  // namespace treeproof::testing
