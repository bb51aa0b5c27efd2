#include "lagrangian.hpp"

#include <algorithm>
#include <utility>

namespace treeproof {
namespace {

constexpr std::int32_t kLargestMove = 1 << 26;

}  // namespace

void Lagrangian::start(const Residual& residual, const Box& box, const Prices& prices) {
  residual_ = &residual;
  box_ = &box;
  const std::size_t n = residual.left.size(), slots = residual.slot_node.size(), gates = residual.gate_slot.size();
  alpha_.resize(gates);
  beta_.resize(gates);
  alpha_[0] = beta_[0] = 0;
  for (std::size_t g = 1; g < gates; ++g) {
    alpha_[g] = prices.alpha(residual.gate_origin[g]);
    beta_[g] = prices.beta(residual.gate_origin[g]);
  }
  from_.resize(gates);
  up_to_.resize(gates);
  from_[0] = up_to_[0] = 0;
  went_left_.resize(gates);
  went_right_.resize(gates);
  pay_left_.resize(n);
  pay_right_.resize(n);
  value_.resize(residual.constants.size() + n);
  std::copy(residual.constants.begin(), residual.constants.end(), value_.begin());
  point_value_.resize(value_.size());
  std::copy(residual.constants.begin(), residual.constants.end(), point_value_.begin());
  on_path_.resize(value_.size());
  earn_left_.resize(slots);
  earn_right_.resize(slots);
  slot_left_.resize(slots);
  disagreement_.assign(slots, 0);
  best_cell_.resize(residual.features.size());
  best_earning_.resize(residual.features.size());
}

std::int64_t Lagrangian::evaluate() {
  const Residual& r = *residual_;
  const std::int32_t* const left = r.left.data();
  const std::int32_t* const right = r.right.data();
  const std::int32_t* const slot = r.gate_slot.data();
  std::int32_t* const value = value_.data();
  std::fill(earn_left_.begin(), earn_left_.end(), 0);
  std::fill(earn_right_.begin(), earn_right_.end(), 0);
  const std::int32_t n_constants = r.n_constants(), n_gates = r.n_gates(), largest = largest_payment_;
  const std::int32_t *const gate = r.gate.data(), *const above = r.above.data(), *const below = r.below.data();
  const std::int32_t* const chained = r.chained.data();
  std::int32_t *const alpha = alpha_.data(), *const beta = beta_.data();
  std::int32_t *const from = from_.data(), *const up_to = up_to_.data();
  std::int32_t *const pay_left = pay_left_.data(), *const pay_right = pay_right_.data();
  std::int64_t *const earn_left = earn_left_.data(), *const earn_right = earn_right_.data();
  std::int32_t behind = 0, before = 0;  // what the chain's gates behind, before the one at hand cost
  for (std::int32_t g = n_gates - 1; g > 0; --g) {
    const std::int32_t price = std::min(alpha[g], largest - behind);
    alpha[g] = price;
    from[g] = behind + price;
    behind = (behind + price) & chained[g];
    earn_left[slot[g]] += price;
  }
  for (std::int32_t g = 1; g < n_gates; ++g) {
    before &= chained[g];
    const std::int32_t price = std::min(beta[g], largest - before);
    beta[g] = price;
    before += price;
    up_to[g] = before;
    earn_right[slot[g]] += price;
  }
  for (std::int32_t n = r.n_nodes() - 1; n >= 0; --n) {
    const std::int32_t to_left = from[gate[n]] - from[above[n]], to_right = up_to[gate[n]] - up_to[below[n]];
    pay_left[n] = to_left;
    pay_right[n] = to_right;
    value[n_constants + n] = std::max(value[left[n]] - to_left, value[right[n]] - to_right);
  }
  bound_ = r.offset;
  for (const std::int32_t root : r.roots) bound_ += value[root];
  evaluate_features();
  return bound_;
}

void Lagrangian::evaluate_features() {
  const Residual& r = *residual_;
  for (std::size_t i = 0; i < r.features.size(); ++i) {
    const std::int32_t f = r.features[i], begin = r.slot_begin[i], end = r.slot_begin[i + 1];
    if (forest_.ordered[f]) {
      // The first cells go left at every split; behind a split a cell earns for going right there instead.
      std::int64_t all_left = 0, more = 0, most = 0;
      std::int32_t past = begin;  // the best cells lie behind the splits before `past`
      for (std::int32_t s = begin; s < end; ++s) {
        all_left += earn_left_[s];
        more += earn_right_[s] - earn_left_[s];
        past = more > most ? s + 1 : past;
        most = std::max(more, most);
      }
      const std::int64_t best = all_left + most;
      best_earning_[i] = best;
      best_cell_[i] = past == begin ? box_->low[f] : r.slot_cut[past - 1] + 1;
      for (std::int32_t s = begin; s < end; ++s) slot_left_[s] = s >= past;
    } else if (forest_.gapped[f]) {
      evaluate_gapped(i);
    } else {
      best_earning_[i] = -1;
      for (std::size_t w = forest_.words_begin[f]; w < forest_.words_begin[f + 1]; ++w) {
        for (Word rest = box_->sets[w]; rest != 0; rest &= rest - 1) {
          const Cell cell = static_cast<Cell>((w - forest_.words_begin[f]) * 64) + std::countr_zero(rest);
          std::int64_t earning = 0;
          for (std::int32_t s = begin; s < end; ++s)
            earning += forest_.goes_left(r.slot_node[s], cell) ? earn_left_[s] : earn_right_[s];
          if (earning > best_earning_[i]) {
            best_earning_[i] = earning;
            best_cell_[i] = cell;
          }
        }
      }
      for (std::int32_t s = begin; s < end; ++s) slot_left_[s] = forest_.goes_left(r.slot_node[s], best_cell_[i]);
    }
    bound_ += best_earning_[i];
  }
}

// Numbers earn along their order, as the cells of an ordered feature do; missing values are one candidate more.
void Lagrangian::evaluate_gapped(std::size_t i) {
  const Residual& r = *residual_;
  const std::int32_t f = r.features[i], begin = r.slot_begin[i], end = r.slot_begin[i + 1];
  best_earning_[i] = -1;
  if (box_->missing[f]) {
    best_earning_[i] = missing_earning(i);
    best_cell_[i] = forest_.missing_cell(f);
  }
  std::int64_t earning = 0;
  for (std::int32_t s = begin; s < end; ++s) earning += earn_left_[s];
  for (std::int32_t position = begin; position <= end; ++position) {
    if (position > begin) earning += earn_right_[position - 1] - earn_left_[position - 1];
    if (earning <= best_earning_[i]) continue;
    const Residual::Stretch cells = r.stretch(*box_, i, position);
    if (cells.empty()) continue;
    best_earning_[i] = earning;
    best_cell_[i] = cells.first;
  }
  const bool missing = best_cell_[i] == forest_.missing_cell(f);
  for (std::int32_t s = begin; s < end; ++s)
    slot_left_[s] = missing ? Forest::missing_left(r.slot_cut[s]) : best_cell_[i] < Forest::numbers_left(r.slot_cut[s]);
}

// What missing values of the i-th feature, a gapped one, earn.
std::int64_t Lagrangian::missing_earning(std::size_t i) const {
  std::int64_t earning = 0;
  for (std::int32_t s = residual_->slot_begin[i]; s < residual_->slot_begin[i + 1]; ++s)
    earning += Forest::missing_left(residual_->slot_cut[s]) ? earn_left_[s] : earn_right_[s];
  return earning;
}

bool Lagrangian::closes(std::int64_t target, std::int64_t exact_target) {
  if (bound_ < target) return true;
  const Residual& r = *residual_;
  if (bound_ >= exact_target || r.offset_inexact) return false;
  // paid_[n]: the bound if the tree of n must go through n, less the best value below n.
  const std::int32_t n_constants = r.n_constants();
  paid_.resize(value_.size());
  for (const std::int32_t root : r.roots) paid_[root] = bound_ - value_[root];
  for (std::int32_t n = 0; n < r.n_nodes(); ++n) {
    const std::int64_t here = paid_[n_constants + n];
    for (const auto& [child, price] : {std::pair(r.left[n], pay_left_[n]), std::pair(r.right[n], pay_right_[n])}) {
      if (child >= n_constants) {
        paid_[child] = here - price;
      } else if (r.inexact[child] && here - price + value_[child] >= target) {
        return false;
      }
    }
  }
  return true;
}

std::int64_t Lagrangian::value_of_best_cells() {
  const Residual& r = *residual_;
  const std::int32_t n_constants = r.n_constants();
  std::int32_t* const value = point_value_.data();
  for (std::int32_t n = r.n_nodes() - 1; n >= 0; --n) {
    const std::int32_t by_left = value[r.left[n]], by_right = value[r.right[n]];
    value[n_constants + n] = slot_left_[r.slot[n]] ? by_left : by_right;
  }
  std::int64_t sum = r.offset;
  for (const std::int32_t root : r.roots) sum += value[root];
  return sum;
}

void Lagrangian::place_best_cells(std::vector<Cell>& point) const {
  for (std::size_t i = 0; i < residual_->features.size(); ++i) point[residual_->features[i]] = best_cell_[i];
}

// Which way paths go is unpredictable, so the loops below compute with flags instead of branching on them.
bool Lagrangian::step(std::int64_t target, double scale) {
  const Residual& r = *residual_;
  const std::int32_t n_constants = r.n_constants(), n_nodes = r.n_nodes(), n_gates = r.n_gates();
  // Bytes may alias everything, so pointers to vectors are read once.
  std::uint8_t* const on_path = on_path_.data();
  const std::uint8_t* const slot_left = slot_left_.data();
  const std::int32_t *const left = r.left.data(), *const right = r.right.data(), *const slot = r.slot.data();
  const std::int32_t *const gate = r.gate.data(), *const gate_slot = r.gate_slot.data();
  const std::int32_t *const chained = r.chained.data(), *const value = value_.data();
  const std::int32_t *const pay_left = pay_left_.data(), *const pay_right = pay_right_.data();
  std::int32_t *const went_left = went_left_.data(), *const went_right = went_right_.data();
  std::int32_t *const alpha = alpha_.data(), *const beta = beta_.data(), *const disagreement = disagreement_.data();
  for (const std::int32_t root : r.roots) on_path[root] = 1;
  std::fill(went_left, went_left + n_gates, 0);
  std::fill(went_right, went_right + n_gates, 0);
  for (std::int32_t n = 0; n < n_nodes; ++n) {
    const std::int32_t cell_left = slot_left[slot[n]];
    const std::int32_t by_left = value[left[n]] - pay_left[n], by_right = value[right[n]] - pay_right[n];
    const std::int32_t path_left = by_left + cell_left > by_right;  // where both are as good, agree with the cell
    const std::int32_t on = on_path[n_constants + n];
    const std::int32_t on_left = on & path_left, on_right = on & ~path_left;
    on_path[left[n]] = static_cast<std::uint8_t>(on_left);
    on_path[right[n]] = static_cast<std::uint8_t>(on_right);
    went_left[gate[n]] |= on_left;
    went_right[gate[n]] |= on_right;
    disagreement[slot[n]] += on & (path_left ^ cell_left);
  }
  // The subgradient of alpha_g is [the feature's cell goes left] - [the path implies left], of beta_g likewise. A price
  // of 0 cannot fall.
  std::int32_t length = 0, behind = 0, before = 0;
  for (std::int32_t g = n_gates - 1; g > 0; --g) {
    const std::int32_t implied = went_right[g] | behind;
    behind = implied & chained[g];
    const std::int32_t goes = 1 - slot_left[gate_slot[g]];
    went_right[g] = (goes & ((beta[g] > 0) | implied)) - implied;
    length += went_right[g] != 0;
  }
  for (std::int32_t g = 1; g < n_gates; ++g) {
    before = went_left[g] | (before & chained[g]);
    const std::int32_t goes = slot_left[gate_slot[g]];
    went_left[g] = (goes & ((alpha[g] > 0) | before)) - before;
    length += went_left[g] != 0;
  }
  if (length == 0) return false;
  const double exact = scale * static_cast<double>(bound_ - target) / length;
  const std::int32_t move = std::max(1, static_cast<std::int32_t>(std::min(exact, double{kLargestMove})));
  for (std::int32_t g = 1; g < n_gates; ++g) {
    alpha[g] = std::max(alpha[g] - move * went_left[g], 0);
    beta[g] = std::max(beta[g] - move * went_right[g], 0);
  }
  return true;
}

void Lagrangian::keep_prices() {
  best_alpha_ = alpha_;
  best_beta_ = beta_;
}

void Lagrangian::restore_prices() {
  alpha_.swap(best_alpha_);
  beta_.swap(best_beta_);
}

std::vector<std::int32_t> Lagrangian::nonzero_prices() const {
  std::vector<std::int32_t> entries;
  for (std::size_t g = 1; g < alpha_.size(); ++g)
    if (alpha_[g] != 0 || beta_[g] != 0)
      entries.insert(entries.end(), {forest_.gate_node[residual_->gate_origin[g]], alpha_[g], beta_[g]});
  return entries;
}

bool Lagrangian::fix(Box& box, std::int64_t target, bool& empty, Recorder* recorder, Pair pair) const {
  const Residual& r = *residual_;
  const std::int32_t table = recorder == nullptr ? -1 : recorder->table(nonzero_prices());
  // The part of the box in which feature f is as in `part` is closed by the prices; what is left is examined next.
  const auto cut_off = [&](const Box& part, int f) {
    if (recorder == nullptr) return;
    recorder->split(part, f);
    recorder->prices(pair, table);
  };
  // What a choice may cost before the box closes. The box is open, so this is not negative: the best cell of every
  // feature stays, and ends the loops below.
  const std::int64_t slack = std::max<std::int64_t>(bound_ - target, 0);
  bool shrank = false;
  for (std::size_t i = 0; i < r.features.size(); ++i) {
    const std::int32_t f = r.features[i], begin = r.slot_begin[i], end = r.slot_begin[i + 1];
    if (forest_.ordered[f]) {
      // Intervals between splits, from the low end and from the high end, that lose more than the slack.
      std::int64_t earning = 0;
      for (std::int32_t s = begin; s < end; ++s) earning += earn_left_[s];
      std::int32_t first = begin;
      while (best_earning_[i] - earning > slack) {
        earning += earn_right_[first] - earn_left_[first];
        ++first;
      }
      std::int64_t from_end = 0;
      for (std::int32_t s = begin; s < end; ++s) from_end += earn_right_[s];
      std::int32_t last = end;
      while (best_earning_[i] - from_end > slack) {
        --last;
        from_end += earn_left_[last] - earn_right_[last];
      }
      if (first > begin) {
        const Cell low = r.slot_cut[first - 1] + 1;
        Box part = box;
        part.high[f] = low - 1;
        cut_off(part, f);
        box.low[f] = low;
        shrank = true;
      }
      if (last < end) {
        const Cell high = r.slot_cut[last];
        Box part = box;
        part.low[f] = high + 1;
        cut_off(part, f);
        box.high[f] = high;
        shrank = true;
      }
    } else if (forest_.gapped[f]) {
      const Cell low = box.low[f], high = box.high[f];
      Cell first = low, last = high;  // of the numbers that stay
      if (box.has_numbers(f)) {
        std::int64_t earning = 0, from_end = 0;
        for (std::int32_t s = begin; s < end; ++s) {
          earning += earn_left_[s];
          from_end += earn_right_[s];
        }
        std::int32_t at = begin;
        for (; at <= end; ++at) {
          if (at > begin) earning += earn_right_[at - 1] - earn_left_[at - 1];
          if (best_earning_[i] - earning <= slack && !r.stretch(box, i, at).empty()) break;
        }
        first = at > end ? high + 1 : r.stretch(box, i, at).first;
        for (at = end; first <= high; --at) {
          if (at < end) from_end += earn_left_[at] - earn_right_[at];
          if (best_earning_[i] - from_end <= slack && !r.stretch(box, i, at).empty()) break;
        }
        if (first <= high) last = r.stretch(box, i, at).last;
      }
      const bool no_missing = box.missing[f] && best_earning_[i] - missing_earning(i) > slack;
      const auto cut_off_numbers = [&](Cell from, Cell to) {
        Box part = box;
        part.low[f] = from;
        part.high[f] = to;
        part.missing[f] = 0;
        cut_off(part, f);
        shrank = true;
      };
      if (first > low) cut_off_numbers(low, first - 1);
      box.low[f] = first;
      if (last < high) cut_off_numbers(last + 1, high);
      box.high[f] = last;
      if (no_missing) {
        Box part = box;
        part.remove_numbers(f);
        cut_off(part, f);
        box.missing[f] = 0;
        shrank = true;
      }
    } else {
      bool some = false;
      Box part = box;
      for (std::size_t w = forest_.words_begin[f]; w < forest_.words_begin[f + 1]; ++w) {
        for (Word rest = box.sets[w]; rest != 0; rest &= rest - 1) {
          const int bit = std::countr_zero(rest);
          const Cell cell = static_cast<Cell>((w - forest_.words_begin[f]) * 64) + bit;
          std::int64_t earning = 0;
          for (std::int32_t s = begin; s < end; ++s)
            earning += forest_.goes_left(r.slot_node[s], cell) ? earn_left_[s] : earn_right_[s];
          if (best_earning_[i] - earning > slack) {
            box.sets[w] &= ~(Word{1} << bit);
            some = true;
          }
        }
        part.sets[w] &= ~box.sets[w];
      }
      if (some) {
        cut_off(part, f);
        shrank = true;
      }
    }
  }
  empty = false;
  const std::int32_t n_constants = r.n_constants();
  for (const std::int32_t root : r.roots) {
    if (empty) break;
    const std::int32_t n = root - n_constants, node = r.origin[n];
    const std::int32_t best = value_[root];
    const bool no_left = best - (value_[r.left[n]] - pay_left_[n]) > slack;
    const bool no_right = best - (value_[r.right[n]] - pay_right_[n]) > slack;
    if (!no_left && !no_right) continue;
    // The roots' boxes are the box itself, so the split may have been decided by a cut made just above.
    const Side side = box.side(forest_, node);
    if (side == Side::both) {
      Box part = box;
      part.restrict(forest_, node, no_left ? Side::left : Side::right);
      cut_off(part, forest_.nodes[node].feature);
      box.restrict(forest_, node, no_left ? Side::right : Side::left);
      shrank = true;
    } else if (side == (no_left ? Side::left : Side::right)) {
      empty = true;
    }
  }
  if (empty && recorder != nullptr) recorder->prices(pair, table);  // so is the last part
  return shrank;
}

std::int32_t Lagrangian::branch(Side& side) const {
  const Residual& r = *residual_;
  std::int32_t chosen = 0;
  std::int64_t most = -1;
  for (std::size_t i = 0; i < r.features.size(); ++i) {
    const std::int32_t begin = r.slot_begin[i], last = r.slot_begin[i + 1] - 1;
    std::int64_t all = 0, before = 0;
    for (std::int32_t s = begin; s <= last; ++s) all += disagreement_[s];
    if (all <= most) continue;
    most = all;
    for (chosen = begin; chosen < last; ++chosen) {
      before += disagreement_[chosen];
      if (2 * before >= all) break;
    }
  }
  side = slot_left_[chosen] ? Side::left : Side::right;
  return r.slot_node[chosen];
}

void Lagrangian::save(Prices& prices) const {
  for (std::size_t g = 1; g < alpha_.size(); ++g) prices.set(residual_->gate_origin[g], alpha_[g], beta_[g]);
}

}  // namespace treeproof
