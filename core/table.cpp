#include "table.hpp"

#include <algorithm>
#include <limits>

#include "clauses.hpp"

namespace treeproof {
namespace {

constexpr std::size_t kMostPoints = 4096;
constexpr std::size_t kMostLeaves = 1U << 19;  // points times trees
constexpr std::size_t kMostClauses = 64;       // one word of bits

// Whether the winner at a point leads by no more than rounding can undo.
bool is_near_tie(const Forest& forest, const std::vector<Cell>& point, int label) {
  if (forest.band == 0) return false;
  const bool exact = std::all_of(forest.roots.begin(), forest.roots.end(),
                                 [&](std::int32_t root) { return forest.is_exact(forest.leaf(root, point)); });
  if (exact) return false;
  const std::vector<std::int64_t> sums = forest.total_scores(point);
  for (int k = 0; k < forest.n_classes; ++k)
    if (k != label && sums[label] - sums[k] < forest.least(label, k) + forest.band) return true;
  return false;
}

}  // namespace

std::unique_ptr<const Table> Table::make(const Forest& forest) {
  if (forest.clauses.size() > kMostClauses) return nullptr;
  std::size_t points = 1;
  for (const Cell n : forest.n_cells) {
    points *= n;
    if (points > kMostPoints) return nullptr;
  }
  if (points * forest.roots.size() > kMostLeaves) return nullptr;
  return std::unique_ptr<const Table>(new Table(forest));
}

Table::Table(const Forest& forest) : forest_(forest), stride_(forest.n_features) {
  std::size_t points = 1;
  for (int f = 0; f < forest.n_features; ++f) {
    stride_[f] = points;
    points *= forest.n_cells[f];
  }
  label_.resize(points);
  broken_.resize(points);
  near_.resize(points);
  for_each_point(Box::full(forest), [&](const std::vector<Cell>& point, std::size_t place) {
    label_[place] = forest.label(point);
    for (std::size_t c = 0; c < forest.clauses.size(); ++c)
      if (!keeps_clause(forest, forest.clauses[c], point)) broken_[place] |= Word{1} << c;
    near_[place] = is_near_tie(forest, point, label_[place]);
    return true;
  });
}

template <typename Visit>
bool Table::for_each_point(const Box& box, const Visit& visit) const {
  std::vector<Cell> point = box.first_point(forest_);
  const std::vector<Cell> first = point;
  std::size_t place = 0;
  for (int f = 0; f < forest_.n_features; ++f) place += point[f] * stride_[f];
  for (;;) {
    if (!visit(point, place)) return false;
    int f = 0;
    for (; f < forest_.n_features; ++f) {  // count up: the first feature that has a next cell takes it
      const Cell next = box.next_cell(forest_, f, point[f]);
      const bool carry = next < 0;
      const Cell cell = carry ? first[f] : next;
      place += (static_cast<std::size_t>(cell) - static_cast<std::size_t>(point[f])) * stride_[f];
      point[f] = cell;
      if (!carry) break;
    }
    if (f == forest_.n_features) return true;
  }
}

bool Table::holds(const Box& box, Claim claim, Word kept) const {
  return for_each_point(box, [&](const std::vector<Cell>&, std::size_t place) {
    return (broken_[place] & kept) != 0 || !claim.violated_by(label_[place]);
  });
}

Outcome Table::decide(const Box& box, Claim claim, const std::vector<Cell>& home) const {
  Outcome outcome;
  outcome.boxes = 1;
  outcome.used.assign(forest_.n_features, 0);
  int least = std::numeric_limits<int>::max();
  bool some_near = false;
  for_each_point(box, [&](const std::vector<Cell>& point, std::size_t place) {
    if (broken_[place] != 0) return true;
    some_near |= near_[place] != 0;
    if (!claim.violated_by(label_[place])) return true;
    int changes = 0;
    for (int f = 0; f < forest_.n_features; ++f) changes += point[f] != home[f];
    if (changes >= least) return true;
    least = changes;
    outcome.status = Status::refuted;
    outcome.witness = point;
    outcome.label = label_[place];
    outcome.near_tie = near_[place] != 0;
    return true;
  });
  if (outcome.status == Status::refuted) return outcome;
  outcome.near_tie = some_near;
  Word kept = ~Word{0};
  Box wider = box;
  for (int f = 0; f < forest_.n_features; ++f) {
    if (box.is_full(forest_, f)) continue;
    Box tried = wider;
    tried.free(forest_, f);
    if (holds(tried, claim, kept)) {
      wider = std::move(tried);
    } else {
      outcome.used[f] = 1;
    }
  }
  outcome.used_clauses.assign(forest_.clauses.size(), 0);
  for (std::size_t c = 0; c < forest_.clauses.size(); ++c) {
    const Word fewer = kept & ~(Word{1} << c);
    if (holds(wider, claim, fewer)) {
      kept = fewer;
    } else {
      outcome.used_clauses[c] = 1;
    }
  }
  return outcome;
}

}  // namespace treeproof
