// What a box leaves undecided: the same value at every point, in the shape that is promised.
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
      CHECK(c.forest.nodes[r.slot_node[s]].cut == r.slot_cut[s], "a split has the cut of its node");
      CHECK(!(c.model.ordered[f] || c.model.is_gapped(f)) || s == r.slot_begin[i] || r.slot_cut[s - 1] < r.slot_cut[s],
            "splits of an ordered feature ascend");
      bool left = false, right = false;
      for (const Cell cell : allowed[f]) (twin.goes_left[cell] ? left : right) = true;
      CHECK(left && right, "a split that is left is open in the box");
    }
  }
  for (std::int32_t n = 0; n < r.n_nodes(); ++n) {
    const TwinNode &own = *c.twins[r.origin[n]], &shared = *c.twins[r.slot_node[r.slot[n]]];
    CHECK(own.feature == shared.feature && own.goes_left == shared.goes_left, "nodes of one slot make the same split");
    const std::int32_t gate = r.gate[n];
    CHECK(gate > 0 && gate < r.n_gates() && r.gate_slot[gate] == r.slot[n], "a node has the gate of its split");
    CHECK(r.gate_origin[gate] == c.forest.gate[r.origin[n]], "and of its tree");
  }
  for (std::int32_t g = 2; g < r.n_gates(); ++g)
    CHECK(r.gate_origin[g - 1] < r.gate_origin[g], "gates ascend, each of them once");
}

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
  const int shift = c.forest.scale.shift();
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
    CHECK(covers(value, difference(c, x, contest.pair), shift) ||
              (value >= c.forest.scale.exact_target(c.forest, contest.pair) && cuts_off(c)),
          "the residual forest is worth at least the exact difference, or more than it takes to win");
  }
  for (std::size_t n = 0; n < r.left.size(); ++n)
    CHECK(walk.went_left[n] && walk.went_right[n], "every node that is left goes both ways in the box");
  for (const std::size_t x : c.inside(relaxed(c, contest.allowed, used)))
    CHECK(residual_value(c, r, c.points[x]) == scaled_sum(c, x, contest.pair),
          "restrictions that were not used do not change the residual forest");
  ++counts.residuals;
}

}  // namespace treeproof::testing
