// A box: for each feature the cells it may still take. An interval if the feature is ordered, an interval of numbers
// with or without the cell of missing values if it is gapped, else a set of values.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "forest.hpp"

namespace treeproof {

enum class Side : std::uint8_t { left = 1, right = 2, both = 3 };

struct Box {
  std::vector<Cell> low, high;        // of ordered and gapped features, inclusive; of gapped ones none if low > high
  std::vector<std::uint8_t> missing;  // of gapped features: whether missing values are in the box
  std::vector<Word> sets;             // of the others; Forest::words_begin tells where each starts

  static Box full(const Forest& forest) {
    Box box{std::vector<Cell>(forest.n_features, 0), std::vector<Cell>(forest.n_features, 0),
            std::vector<std::uint8_t>(forest.n_features, 0), std::vector<Word>(forest.words_begin.back(), 0)};
    for (int f = 0; f < forest.n_features; ++f) box.free(forest, f);
    return box;
  }

  void free(const Forest& forest, int f) {
    low[f] = 0;
    if (forest.ordered[f]) {
      high[f] = forest.n_cells[f] - 1;
      return;
    }
    if (forest.gapped[f]) {
      high[f] = forest.missing_cell(f) - 1;
      missing[f] = 1;
      return;
    }
    high[f] = 0;
    for (Cell cell = 0; cell < forest.n_cells[f]; ++cell)
      sets[forest.words_begin[f] + cell / 64] |= Word{1} << (cell % 64);
  }

  void fix(const Forest& forest, int f, Cell cell) {
    if (forest.gapped[f]) {
      missing[f] = cell == forest.missing_cell(f);
      if (missing[f]) return remove_numbers(f);
    }
    if (forest.ordered[f] || forest.gapped[f]) {
      low[f] = high[f] = cell;
      return;
    }
    for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w) sets[w] = 0;
    sets[forest.words_begin[f] + cell / 64] = Word{1} << (cell % 64);
  }

  // Let a feature take the cells that it takes in another box.
  void take(const Forest& forest, int f, const Box& other) {
    low[f] = other.low[f];
    high[f] = other.high[f];
    missing[f] = other.missing[f];
    for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w) sets[w] = other.sets[w];
  }

  // Of a gapped feature.
  bool has_numbers(int f) const { return low[f] <= high[f]; }
  void remove_numbers(int f) {
    low[f] = 1;
    high[f] = 0;
  }

  bool has(const Forest& forest, int f, Cell cell) const {
    if (forest.gapped[f] && cell == forest.missing_cell(f)) return missing[f];
    if (forest.ordered[f] || forest.gapped[f]) return low[f] <= cell && cell <= high[f];
    return (sets[forest.words_begin[f] + cell / 64] >> (cell % 64)) & 1U;
  }

  // The children of `node` that some point of the box reaches (given that some point reaches the node).
  Side side(const Forest& forest, std::int32_t node) const {
    const std::int32_t f = forest.nodes[node].feature;
    const std::int32_t cut = forest.nodes[node].cut;
    if (forest.ordered[f]) return high[f] <= cut ? Side::left : low[f] > cut ? Side::right : Side::both;
    bool some_left = false, some_right = false;
    if (forest.gapped[f]) {
      const Cell numbers = forest.numbers_left(cut);
      const bool left = forest.missing_left(cut);
      some_left = (has_numbers(f) && low[f] < numbers) || (missing[f] && left);
      some_right = (has_numbers(f) && high[f] >= numbers) || (missing[f] && !left);
      return some_left && some_right ? Side::both : some_left ? Side::left : Side::right;
    }
    const Word* left = &forest.left_sets[forest.set_begin[cut]];
    for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w, ++left) {
      some_left |= (sets[w] & *left) != 0;
      some_right |= (sets[w] & ~*left) != 0;
    }
    return some_left && some_right ? Side::both : some_left ? Side::left : Side::right;
  }

  // Keep only the cells that take this side of `node`; the side must be open.
  void restrict(const Forest& forest, std::int32_t node, Side side) {
    const std::int32_t f = forest.nodes[node].feature;
    const std::int32_t cut = forest.nodes[node].cut;
    if (forest.ordered[f]) {
      if (side == Side::left) {
        high[f] = std::min(high[f], cut);
      } else {
        low[f] = std::max(low[f], cut + 1);
      }
      return;
    }
    if (forest.gapped[f]) {
      if (side == Side::left) {
        high[f] = std::min(high[f], forest.numbers_left(cut) - 1);
      } else {
        low[f] = std::max(low[f], forest.numbers_left(cut));
      }
      missing[f] = missing[f] && forest.missing_left(cut) == (side == Side::left);
      return;
    }
    const Word* left = &forest.left_sets[forest.set_begin[cut]];
    for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w, ++left)
      sets[w] &= side == Side::left ? *left : ~*left;
  }

  bool is_full(const Forest& forest, int f) const {
    if (forest.ordered[f]) return low[f] == 0 && high[f] == forest.n_cells[f] - 1;
    if (forest.gapped[f]) return missing[f] && low[f] == 0 && high[f] == forest.missing_cell(f) - 1;
    int n = 0;
    for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w) n += std::popcount(sets[w]);
    return n == forest.n_cells[f];
  }

  // Whether a cell of a feature in the box is its only one.
  bool is_only(const Forest& forest, int f, Cell cell) const {
    if (forest.ordered[f]) return low[f] == high[f];
    if (forest.gapped[f]) return cell == forest.missing_cell(f) ? !has_numbers(f) : low[f] == high[f] && !missing[f];
    int n = 0;
    for (std::size_t w = forest.words_begin[f]; w < forest.words_begin[f + 1]; ++w) n += std::popcount(sets[w]);
    return n == 1;
  }

  // The next larger cell of a feature in the box, or -1.
  Cell next_cell(const Forest& forest, int f, Cell cell) const {
    if (forest.ordered[f]) return cell < high[f] ? cell + 1 : -1;
    if (forest.gapped[f]) {
      if (cell < high[f]) return cell + 1;
      return missing[f] && cell < forest.missing_cell(f) ? forest.missing_cell(f) : -1;
    }
    for (Cell next = cell + 1; next < forest.n_cells[f]; ++next)
      if ((sets[forest.words_begin[f] + next / 64] >> (next % 64)) & 1U) return next;
    return -1;
  }

  // The point of the box with the least cell of each feature.
  std::vector<Cell> first_point(const Forest& forest) const {
    std::vector<Cell> point(low);
    for (int f = 0; f < forest.n_features; ++f) {
      if (forest.ordered[f]) continue;
      if (forest.gapped[f]) {
        if (!has_numbers(f)) point[f] = forest.missing_cell(f);
        continue;
      }
      std::size_t w = forest.words_begin[f];
      while (sets[w] == 0) ++w;
      point[f] = static_cast<Cell>((w - forest.words_begin[f]) * 64 + std::countr_zero(sets[w]));
    }
    return point;
  }
};

// The first node from `node` downwards where the box goes both ways, or the leaf that it reaches. Marks in `used` the
// features of `restricted` that decided on the way.
inline std::int32_t descend(const Forest& forest, const Box& box, std::int32_t node,
                            const std::vector<std::uint8_t>& restricted, std::vector<std::uint8_t>& used) {
  const Node* const nodes = forest.nodes.data();
  const std::uint8_t* const ordered = forest.ordered.data();
  const Cell* const low = box.low.data();
  const Cell* const high = box.high.data();
  for (;;) {
    const Node& here = nodes[node];
    const std::int32_t f = here.feature;
    if (f < 0) return node;
    Side side;
    if (ordered[f]) {
      if (low[f] <= here.cut && high[f] > here.cut) return node;
      side = high[f] <= here.cut ? Side::left : Side::right;
    } else {
      side = box.side(forest, node);
      if (side == Side::both) return node;
    }
    used[f] |= restricted[f];
    node = side == Side::left ? here.left : here.right;
  }
}

}  // namespace treeproof
