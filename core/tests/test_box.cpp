// Boxes: cutting, fixing and freeing, by lists of cells.
#include "../box.hpp"
#include "checks.hpp"

namespace treeproof::testing {

void check_box(Random& random, const Case& c) {
  const Forest& forest = c.forest;
  CHECK(allowed_of(c, Box::full(forest)) == c.full(), "the full box has all cells");
  const Allowed allowed = random_box(random, c);
  Box box = box_of(c, allowed);
  const Flags restricted = restricted_of(c, allowed);
  Point least;
  for (int f = 0; f < forest.n_features; ++f) {
    CHECK(box.is_full(forest, f) == !restricted[f], "a feature is full iff all its cells are allowed");
    CHECK(box.is_only(forest, f, allowed[f].front()) == (allowed[f].size() == 1), "a cell is the only one or not");
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

}  // namespace treeproof::testing
