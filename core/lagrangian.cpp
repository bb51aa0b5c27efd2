#include "lagrangian.hpp"

#include <algorithm>
#include <utility>

namespace treeproof {
namespace {

constexpr std::int32_t kLargestMove = 1 << 20;

}  // namespace

void Lagrangian::start(const Residual& residual, const Box& box, const Prices& prices) {
  residual_ = &residual;
  box_ = &box;
  const std::size_t n = residual.left.size(), slots = residual.slot_node.size();
  alpha_.resize(n);
  beta_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    alpha_[i] = prices.alpha(residual.origin[i]);
    beta_[i] = prices.beta(residual.origin[i]);
  }
  value_.resize(residual.constants.size() + n);
  std::copy(residual.constants.begin(), residual.constants.end(), value_.begin());
  point_value_.resize(value_.size());
  std::copy(residual.constants.begin(), residual.constants.end(), point_value_.begin());
  on_path_.resize(value_.size());
  gradient_alpha_.resize(n);
  gradient_beta_.resize(n);
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
  const std::int32_t* const slot = r.slot.data();
  std::int32_t* const value = value_.data();
  std::fill(earn_left_.begin(), earn_left_.end(), 0);
  std::fill(earn_right_.begin(), earn_right_.end(), 0);
  const std::int32_t n_constants = r.n_constants();
  for (std::int32_t n = r.n_nodes() - 1; n >= 0; --n) {
    value[n_constants + n] = std::max(value[left[n]] - alpha_[n], value[right[n]] - beta_[n]);
    earn_left_[slot[n]] += alpha_[n];
    earn_right_[slot[n]] += beta_[n];
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
    for (const auto& [child, price] : {std::pair(r.left[n], alpha_[n]), std::pair(r.right[n], beta_[n])}) {
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
  const std::int32_t n_constants = r.n_constants(), n_nodes = r.n_nodes();
  std::uint8_t* const on_path = on_path_.data();
  for (const std::int32_t root : r.roots) on_path[root] = 1;
  // The subgradient of alpha_n is [the feature's cell goes left] - [the path goes left], of beta_n likewise. A price of
  // 0 cannot fall.
  std::int32_t length = 0;
  for (std::int32_t n = 0; n < n_nodes; ++n) {
    const std::int32_t left = r.left[n], right = r.right[n];
    const std::int32_t cell_left = slot_left_[r.slot[n]];
    const std::int32_t by_left = value_[left] - alpha_[n], by_right = value_[right] - beta_[n];
    const std::int32_t path_left = by_left + cell_left > by_right;  // where both are as good, agree with the cell
    const std::int32_t on = on_path[n_constants + n];
    on_path[left] = static_cast<std::uint8_t>(on & path_left);
    on_path[right] = static_cast<std::uint8_t>(on & ~path_left);
    const std::int32_t for_alpha = (cell_left & (alpha_[n] > 0)) - (on & path_left);
    const std::int32_t for_beta = ((1 - cell_left) & (beta_[n] > 0)) - (on & (1 - path_left));
    gradient_alpha_[n] = for_alpha;
    gradient_beta_[n] = for_beta;
    length += for_alpha * for_alpha + for_beta * for_beta;
    disagreement_[r.slot[n]] += on & (path_left ^ cell_left);
  }
  if (length == 0) return false;
  const double exact = scale * static_cast<double>(bound_ - target) / length;
  const std::int32_t move = std::max(1, static_cast<std::int32_t>(std::min(exact, double{kLargestMove})));
  for (std::int32_t n = 0; n < n_nodes; ++n) {
    alpha_[n] = std::clamp(alpha_[n] - move * gradient_alpha_[n], 0, largest_price_);
    beta_[n] = std::clamp(beta_[n] - move * gradient_beta_[n], 0, largest_price_);
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
  for (std::size_t i = 0; i < alpha_.size(); ++i)
    if (alpha_[i] != 0 || beta_[i] != 0) entries.insert(entries.end(), {residual_->origin[i], alpha_[i], beta_[i]});
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
    const bool no_left = best - (value_[r.left[n]] - alpha_[n]) > slack;
    const bool no_right = best - (value_[r.right[n]] - beta_[n]) > slack;
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
  for (std::size_t i = 0; i < alpha_.size(); ++i) prices.set(residual_->origin[i], alpha_[i], beta_[i]);
}

}  // namespace treeproof
