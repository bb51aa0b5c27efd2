#include "local_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace treeproof {

// A cell of an ordered feature matters only by its position p among the feature's slots [begin, end]: it goes left at
// slot s iff p <= s. The gains of feature i's positions lie at gain_[p + i], one place for each position. So it is with
// the numbers of a gapped feature, except that a position may have no number; its missing values have no position, and
// what they add lies behind all of these.

void LocalSearch::scatter(const Residual& residual, const Box& box, std::vector<Cell>& point) {
  const std::vector<Cell> first = box.first_point(forest_);
  for (const std::int32_t f : residual.features) {
    if (forest_.ordered[f]) {
      point[f] = box.low[f] + static_cast<Cell>(random() % static_cast<std::uint32_t>(box.high[f] - box.low[f] + 1));
      continue;
    }
    std::uint32_t n = 0;
    for (Cell cell = first[f]; cell >= 0; cell = box.next_cell(forest_, f, cell))
      if (random() % ++n == 0) point[f] = cell;
  }
}

void LocalSearch::start(const Residual& residual, const Box& box, const std::vector<Cell>& point) {
  residual_ = &residual;
  box_ = &box;
  const std::size_t n_features = residual.features.size();
  slot_left_.resize(residual.slot_node.size());
  feature_of_slot_.resize(residual.slot_node.size());
  cell_.resize(n_features);
  position_.resize(n_features);
  low_.resize(n_features);
  high_.resize(n_features);
  missing_stays_.resize(n_features);
  tabu_until_.assign(n_features, 0);
  missing_begin_ = residual.slot_node.size() + n_features + 1;
  gain_.resize(missing_begin_ + n_features);
  for (std::size_t i = 0; i < n_features; ++i) {
    for (std::int32_t s = residual.slot_begin[i]; s < residual.slot_begin[i + 1]; ++s)
      feature_of_slot_[s] = static_cast<std::int32_t>(i);
    set_cell(i, point[residual.features[i]]);
  }
}

// Value the changes of all trees, and list the trees that make each split.
void LocalSearch::value_all_changes() {
  const Residual& r = *residual_;
  std::fill(gain_.begin(), gain_.end(), 0);
  for (std::size_t i = 0; i < r.features.size(); ++i) {
    for (std::int32_t s = r.slot_begin[i]; s < r.slot_begin[i + 1]; ++s) {  // of absorbed trees
      gain_[static_cast<std::size_t>(s) + i + 1] += r.slot_turn[s];
      if (!slot_left_[s]) gain_[static_cast<std::size_t>(r.slot_begin[i]) + i] -= r.slot_turn[s];
    }
  }
  // Of the leaves that the point does not reach, each is reached by changes of one feature at most, which has two
  // places; missing values have one for each feature.
  shares_.resize(std::max(shares_.size(), 3 * r.nodes.size()));
  shares_of_.resize(r.roots.size());
  trees_.resize(r.nodes.size());
  trees_begin_.assign(r.slot_node.size() + 2, 0);  // until the trees are listed, that of a slot is two places behind
  for (const Residual::Fork& fork : r.nodes) ++trees_begin_[fork.slot + 2];
  std::partial_sum(trees_begin_.begin(), trees_begin_.end(), trees_begin_.begin());
  std::size_t first = 0;
  for (std::size_t t = 0; t < r.roots.size(); ++t) {
    shares_of_[t].begin = 3 * first;
    for (const auto last = static_cast<std::size_t>(r.roots[t]); first <= last; ++first)
      trees_[trees_begin_[r.nodes[first].slot + 1]++] = static_cast<std::int32_t>(t);
    value_changes(t);
  }
}

// Change a feature; value the changes of those trees again to which that matters.
void LocalSearch::go(std::size_t i, Cell cell) {
  const Residual& r = *residual_;
  const std::int32_t begin = r.slot_begin[i], end = r.slot_begin[i + 1];
  const bool has_gaps = forest_.gapped[r.features[i]];  // then it matters, too, whether there is a number to be changed
  was_left_.assign(slot_left_.begin() + begin, slot_left_.begin() + end);
  set_cell(i, cell);
  for (std::int32_t s = begin; s < end; ++s) {  // what absorbed trees are worth here
    if (was_left_[s - begin] == slot_left_[s]) continue;
    gain_[static_cast<std::size_t>(begin) + i] += slot_left_[s] ? r.slot_turn[s] : -r.slot_turn[s];
  }
  ++now_;
  for (std::int32_t s = begin; s < end; ++s) {
    if (was_left_[s - begin] == slot_left_[s] && !has_gaps) continue;
    for (std::int32_t k = trees_begin_[s]; k < trees_begin_[s + 1]; ++k) {
      Shares& shares = shares_of_[trees_[k]];
      if (shares.when == now_) continue;  // it has several such splits
      for (std::size_t n = shares.begin; n < shares.end; ++n) gain_[shares_[n].place] -= shares_[n].change;
      value_changes(static_cast<std::size_t>(trees_[k]));
    }
  }
}

void LocalSearch::set_cell(std::size_t i, Cell cell) {
  cell_[i] = cell;
  std::int32_t position = residual_->slot_begin[i];
  for (std::int32_t s = residual_->slot_begin[i]; s < residual_->slot_begin[i + 1]; ++s) {
    slot_left_[s] = forest_.goes_left(residual_->slot_node[s], cell);
    position += !slot_left_[s];
  }
  const std::int32_t f = residual_->features[i];
  position_[i] = forest_.gapped[f] && cell == forest_.missing_cell(f) ? -1 : position;
}

void LocalSearch::place(std::vector<Cell>& point) const {
  for (std::size_t i = 0; i < cell_.size(); ++i) point[residual_->features[i]] = cell_[i];
}

std::int64_t LocalSearch::value_here() const {
  const Residual& r = *residual_;
  std::int64_t sum = r.offset;
  for (std::int32_t at : r.roots) {
    while (at >= 0) {
      at = slot_left_[r.nodes[at].slot] ? r.nodes[at].left : r.nodes[at].right;
    }
    sum += r.constants[~at];
  }
  for (std::size_t s = 0; s < r.slot_turn.size(); ++s) sum += slot_left_[s] ? 0 : r.slot_turn[s];
  return sum;
}

// Add to gain_ the differences (in the sense of a prefix sum) of what each position of each ordered or gapped feature
// adds in a tree, and what missing values add.
void LocalSearch::value_changes(std::size_t tree) {
  const Residual& r = *residual_;
  Shares& shares = shares_of_[tree];
  shares.end = shares.begin;
  shares.when = now_;
  const std::int32_t root = r.roots[tree];
  std::int32_t at = root;
  while (at >= 0) {  // positions that still follow the path: all, at the root
    const std::int32_t i = feature_of_slot_[r.nodes[at].slot];
    low_[i] = r.slot_begin[i];
    high_[i] = r.slot_begin[i + 1];
    missing_stays_[i] = forest_.gapped[r.features[i]] && position_[i] >= 0;
    at = slot_left_[r.nodes[at].slot] ? r.nodes[at].left : r.nodes[at].right;
  }
  const std::int64_t base = r.constants[~at];
  for (at = root; at >= 0;) {
    const Residual::Fork& fork = r.nodes[at];
    const std::int32_t s = fork.slot;
    const auto i = static_cast<std::size_t>(feature_of_slot_[s]);
    if (missing_stays_[i] && Forest::missing_left(r.slot_cut[s]) != static_cast<bool>(slot_left_[s])) {
      add(shares, missing_begin_ + i, value_if_missing(at, i) - base);
      missing_stays_[i] = 0;
    }
    const bool has_order = forest_.ordered[r.features[i]] || forest_.gapped[r.features[i]];
    if (slot_left_[s]) {
      if (has_order) {
        deviate(shares, fork.right, i, std::max(low_[i], s + 1), high_[i], base);
        high_[i] = std::min(high_[i], s);
      }
      at = fork.left;
    } else {
      if (has_order) {
        deviate(shares, fork.left, i, low_[i], std::min(high_[i], s), base);
        low_[i] = std::max(low_[i], s + 1);
      }
      at = fork.right;
    }
  }
}

void LocalSearch::add(Shares& shares, std::size_t place, std::int64_t change) {
  gain_[place] += change;
  shares_[shares.end++] = {place, change};
}

// Positions low..high of feature i reach the value index `at`, all else as it is.
void LocalSearch::deviate(Shares& shares, std::int32_t at, std::size_t i, std::int32_t low, std::int32_t high,
                          std::int64_t base) {
  const Residual& r = *residual_;
  while (low <= high) {
    if (at < 0) {
      const std::int64_t change = r.constants[~at] - base;
      add(shares, static_cast<std::size_t>(low) + i, change);
      // Behind its last position is the next feature's place.
      if (high < r.slot_begin[i + 1]) add(shares, static_cast<std::size_t>(high) + i + 1, -change);
      return;
    }
    const Residual::Fork& fork = r.nodes[at];
    const std::int32_t s = fork.slot;
    if (static_cast<std::size_t>(feature_of_slot_[s]) != i) {
      at = slot_left_[s] ? fork.left : fork.right;
      continue;
    }
    deviate(shares, fork.left, i, low, std::min(high, s), base);
    low = std::max(low, s + 1);
    at = fork.right;
  }
}

// What the tree below the value index `at` is worth if the i-th feature is missing, all else as it is.
std::int64_t LocalSearch::value_if_missing(std::int32_t at, std::size_t i) const {
  const Residual& r = *residual_;
  while (at >= 0) {
    const Residual::Fork& fork = r.nodes[at];
    const std::int32_t s = fork.slot;
    const bool own = static_cast<std::size_t>(feature_of_slot_[s]) == i;
    at = (own ? Forest::missing_left(r.slot_cut[s]) : static_cast<bool>(slot_left_[s])) ? fork.left : fork.right;
  }
  return r.constants[~at];
}

std::int64_t LocalSearch::run(std::int64_t target, int patience, const Poll& must_stop) {
  const Residual& r = *residual_;
  std::int64_t value = value_here(), best = value;
  stopped_ = false;
  for (int step = 1, waited = 0; value < target && waited < patience && !(stopped_ = must_stop()); ++step, ++waited) {
    if (step == 1) value_all_changes();
    std::int64_t most = std::numeric_limits<std::int64_t>::min();
    std::size_t best_feature = 0;
    Cell best_cell = 0;
    std::uint32_t ties = 0;
    const auto offer = [&](std::int64_t gain, std::size_t i, Cell cell) {
      if (tabu_until_[i] > step && value + gain <= best) return;
      if (gain < most) return;
      ties = gain > most ? 1 : ties + 1;
      most = gain;
      if (ties > 1 && random() % ties != 0) return;
      best_feature = i;
      best_cell = cell;
    };
    for (std::size_t i = 0; i < r.features.size(); ++i) {
      const std::int32_t f = r.features[i], begin = r.slot_begin[i], end = r.slot_begin[i + 1];
      if (forest_.ordered[f]) {
        std::int64_t gain = 0;
        for (std::int32_t p = begin; p <= end; ++p) {
          gain += gain_[p + static_cast<std::int32_t>(i)];
          if (p != position_[i]) offer(gain, i, p == begin ? box_->low[f] : r.slot_cut[p - 1] + 1);
        }
        continue;
      }
      if (forest_.gapped[f]) {
        std::int64_t gain = 0;
        for (std::int32_t p = begin; p <= end; ++p) {
          gain += gain_[p + static_cast<std::int32_t>(i)];
          if (p == position_[i]) continue;
          const Residual::Stretch cells = r.stretch(*box_, i, p);
          if (!cells.empty()) offer(gain, i, cells.first);
        }
        if (box_->missing[f] && position_[i] >= 0) offer(gain_[missing_begin_ + i], i, forest_.missing_cell(f));
        continue;
      }
      const Cell now = cell_[i];
      for (std::size_t w = forest_.words_begin[f]; w < forest_.words_begin[f + 1]; ++w) {
        for (Word rest = box_->sets[w]; rest != 0; rest &= rest - 1) {
          const Cell cell = static_cast<Cell>((w - forest_.words_begin[f]) * 64) + std::countr_zero(rest);
          if (cell == now) continue;
          set_cell(i, cell);
          offer(value_here() - value, i, cell);
        }
      }
      set_cell(i, now);
    }
    if (ties == 0) break;  // every change is tabu
    go(best_feature, best_cell);
    tabu_until_[best_feature] = step + 3 + static_cast<int>(random() % 4);
    value += most;
    if (value > best) {
      best = value;
      waited = 0;
    }
  }
  return value;
}

}  // namespace treeproof
