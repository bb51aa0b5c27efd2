#include "trail.hpp"

#include <algorithm>

namespace treeproof {

void Trail::go(const std::vector<Cell>& point, Pair pair) {
  const std::size_t n_trees = forest_.roots.size();
  const bool first = point_.empty(), same_pair = pair.winner == pair_.winner && pair.loser == pair_.loser;
  Word changed = first ? ~Word{0} : 0;
  for (std::size_t f = 0; !first && f < point.size(); ++f)
    if (point[f] != point_[f]) changed |= bit(static_cast<std::int32_t>(f));
  point_ = point;
  pair_ = pair;
  leaves_.resize(n_trees);
  met_.resize(n_trees, 0);
  worth_.resize(n_trees, 0);
  if (first || !same_pair) {
    for (std::size_t t = 0; t < n_trees; ++t)
      if (first || (met_[t] & changed) != 0) walk(t);
    lead_ = 0;
    for (std::size_t t = 0; t < n_trees; ++t) lead_ += worth_[t] = difference(leaves_[t]);
    return;
  }
  for (std::size_t t = 0; changed != 0 && t < n_trees; ++t) {
    if ((met_[t] & changed) == 0) continue;
    const std::int32_t before = leaves_[t];
    walk(t);
    if (leaves_[t] == before) continue;
    lead_ -= worth_[t];
    lead_ += worth_[t] = difference(leaves_[t]);
  }
}

void Trail::walk(std::size_t tree) {
  std::int32_t node = forest_.roots[tree];
  Word met = 0;
  for (std::int32_t f; (f = forest_.nodes[node].feature) >= 0;) {
    met |= bit(f);
    node = forest_.goes_left(node, point_[f]) ? forest_.nodes[node].left : forest_.nodes[node].right;
  }
  leaves_[tree] = node;
  met_[tree] = met;
}

std::int64_t Trail::difference(std::int32_t leaf) const {
  const std::int64_t* score = forest_.scores_of(leaf);
  return score[pair_.winner] - score[pair_.loser];
}

std::int64_t Trail::best_lead(const Box& box, int f, Cell& best) {
  best = point_[f];
  if (!forest_.ordered[f]) return lead_;
  const Cell low = box.low[f], high = box.high[f];
  gain_.assign(static_cast<std::size_t>(high - low) + 2, 0);
  open_.clear();
  for (std::size_t t = 0; t < leaves_.size(); ++t)
    if ((met_[t] & bit(f)) != 0 && forest_.contested(t, pair_))
      open_.push_back({forest_.roots[t], low, high, static_cast<std::int32_t>(t)});
  reached_.clear();
  visit_along(forest_, point_, f, open_, [&](const Stretch& cells) {
    __builtin_prefetch(forest_.scores_of(cells.node));
    reached_.push_back(cells);
  });
  for (const auto& [leaf, first, last, tree] : reached_) {
    const std::int64_t change = difference(leaf) - worth_[tree];
    gain_[first - low] += change;
    gain_[last - low + 1] -= change;
  }
  std::int64_t here = 0, most = 0;
  for (Cell cell = low; cell <= high; ++cell) {
    here += gain_[cell - low];
    if (here <= most) continue;
    most = here;
    best = cell;
  }
  return lead_ + most;
}

}  // namespace treeproof
