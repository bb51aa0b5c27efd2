#include "sweep.hpp"

#include <algorithm>
#include <utility>

#include "clauses.hpp"

namespace treeproof {

void Sweep::start(std::vector<Cell> point) {
  point_ = std::move(point);
  leaves_.resize(forest_.roots.size());
  asked_.resize(forest_.roots.size());
  votes_.assign(forest_.leaf_class.empty() ? 0 : forest_.n_classes, 0);
  for (std::size_t t = 0; t < leaves_.size(); ++t) {
    const auto [leaf, asked] = walk(forest_.roots[t]);
    leaves_[t] = leaf;
    asked_[t] = asked;
    if (!votes_.empty()) ++votes_[forest_.leaf_class[leaf]];
  }
}

void Sweep::move(int f, Cell cell) {
  moved_ = f;
  moved_from_ = std::exchange(point_[f], cell);
  before_.clear();
  for (std::size_t t = 0; t < leaves_.size(); ++t) {
    if ((asked_[t] & bit(f)) == 0) continue;
    const Walk now = walk(forest_.roots[t]);
    if (now.leaf == leaves_[t]) continue;
    before_.emplace_back(t, Walk{leaves_[t], asked_[t]});
    set(t, now);
  }
}

void Sweep::move_back() {
  point_[moved_] = moved_from_;
  for (const auto& [t, walk] : before_) set(t, walk);
}

bool Sweep::violates() const { return fails(leaves_, votes_) && keeps_clauses(forest_, point_); }

std::optional<Cell> Sweep::nearest_violation(int f, Cell from, Cell to) {
  const bool upward = from <= to;
  turns_.clear();
  open_.clear();
  for (std::size_t t = 0; t < leaves_.size(); ++t)
    if ((asked_[t] & bit(f)) != 0)
      open_.push_back({forest_.roots[t], std::min(from, to), std::max(from, to), static_cast<std::int32_t>(t)});
  visit_along(forest_, point_, f, open_, [&](const Stretch& cells) {
    turns_.push_back({upward ? cells.low : cells.high, cells.tree, cells.node});
  });
  std::sort(turns_.begin(), turns_.end(),
            [&](const Turn& a, const Turn& b) { return upward ? a.from < b.from : a.from > b.from; });
  turned_leaves_ = leaves_;
  turned_votes_ = votes_;
  const Cell one = upward ? 1 : -1, own = point_[f];
  std::size_t next = 0;
  for (Cell cell = from;;) {
    for (; next < turns_.size() && turns_[next].from == cell; ++next) {
      const std::int32_t leaf = turns_[next].leaf;
      const std::int32_t last = std::exchange(turned_leaves_[turns_[next].tree], leaf);
      if (votes_.empty()) continue;
      --turned_votes_[forest_.leaf_class[last]];
      ++turned_votes_[forest_.leaf_class[leaf]];
    }
    // The cells up to the next turn have the same label, but may keep other clauses.
    const Cell end = next < turns_.size() ? turns_[next].from : to + one;
    if (fails(turned_leaves_, turned_votes_)) {
      for (; cell != end; cell += one) {
        point_[f] = cell;
        const bool allowed = keeps_clauses(forest_, point_);
        point_[f] = own;
        if (allowed) return cell;
      }
    }
    if (next == turns_.size()) return {};
    cell = end;
  }
}

Sweep::Walk Sweep::walk(std::int32_t node) const {
  Word asked = 0;
  while (forest_.nodes[node].feature >= 0) {
    const std::int32_t f = forest_.nodes[node].feature;
    asked |= bit(f);
    node = forest_.goes_left(node, point_[f]) ? forest_.nodes[node].left : forest_.nodes[node].right;
  }
  return {node, asked};
}

void Sweep::set(std::size_t t, Walk walk) {
  if (!votes_.empty()) {
    --votes_[forest_.leaf_class[leaves_[t]]];
    ++votes_[forest_.leaf_class[walk.leaf]];
  }
  leaves_[t] = walk.leaf;
  asked_[t] = walk.asked;
}

int Sweep::label_of(const std::vector<std::int32_t>& leaves, const std::vector<std::int64_t>& votes) const {
  if (votes.empty()) return forest_.label_of_leaves(leaves);
  return static_cast<int>(std::max_element(votes.begin(), votes.end()) - votes.begin());
}

}  // namespace treeproof
