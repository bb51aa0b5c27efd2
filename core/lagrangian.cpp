#include "lagrangian.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace treeproof {
namespace {

constexpr int kRightBits = 16;  // right sides are counted in these bits of a number and beyond, left ones below

}  // namespace

void Lagrangian::start(const Residual& residual, const Box& box, const Prices& prices) {
  residual_ = &residual;
  box_ = &box;
  const std::size_t n = residual.nodes.size(), slots = residual.slot_node.size(), gates = residual.gate_slot.size();
  const std::size_t n_constants = residual.constants.size();
  largest_price_ = largest_price(residual.most_gates, largest_payments_);
  alpha_.resize(gates);
  beta_.resize(gates);
  for (std::size_t g = 0; g < gates; ++g) {
    alpha_[g] = std::min(prices.alpha(residual.gate_origin[g]), largest_price_);
    beta_[g] = std::min(prices.beta(residual.gate_origin[g]), largest_price_);
  }
  for (const auto& [node, feature] : residual.singles)
    alpha_[residual.nodes[node].gate] = beta_[residual.nodes[node].gate] = 0;
  move_ = 0;
  lower_alpha_.resize(gates);
  lower_beta_.resize(gates);
  alphas_.resize(gates + 1);
  betas_.resize(gates + 1);
  implied_.resize(gates + 1);
  value_.resize(n_constants + n);
  std::reverse_copy(residual.constants.begin(), residual.constants.end(), value_.begin());
  lead_.resize(n);
  turn_.resize(slots);
  slot_left_.resize(slots);
  disagreement_.assign(slots, 0);
  best_cell_.resize(residual.features.size());
  best_earning_.resize(residual.features.size());
}

std::int64_t Lagrangian::evaluate() {
  const Residual& r = *residual_;
  turn_ = r.slot_turn;
  const std::int32_t n_gates = r.n_gates(), n_nodes = r.n_nodes(), largest = largest_price_, move = move_;
  const std::int32_t *const slot = r.gate_slot.data(), *const lower_alpha = lower_alpha_.data(),
                            *const lower_beta = lower_beta_.data();
  std::int32_t *const alpha = alpha_.data(), *const beta = beta_.data();
  std::uint32_t *const alphas = alphas_.data(), *const betas = betas_.data();
  std::int64_t* const turn = turn_.data();
  std::int64_t to_left = 0, to_right = 0;
  for (std::int32_t g = 0; g < n_gates; ++g) {
    const std::int32_t a = std::clamp(alpha[g] - move * lower_alpha[g], 0, largest);
    const std::int32_t b = std::clamp(beta[g] - move * lower_beta[g], 0, largest);
    alpha[g] = a;
    beta[g] = b;
    alphas[g] = static_cast<std::uint32_t>(to_left);
    betas[g] = static_cast<std::uint32_t>(to_right);
    to_left += a;
    to_right += b;
    turn[slot[g]] += b - a;
  }
  alphas[n_gates] = static_cast<std::uint32_t>(to_left);
  betas[n_gates] = static_cast<std::uint32_t>(to_right);
  move_ = 0;
  const Residual::Fork* const nodes = r.nodes.data();
  std::int32_t *const value = value_.data() + r.n_constants(), *const lead = lead_.data();
  for (std::int32_t n = 0; n < n_nodes; ++n) {
    const Residual::Fork& fork = nodes[n];
    const std::int32_t by_left =
        value[fork.left] - static_cast<std::int32_t>(alphas[fork.left_end] - alphas[fork.gate]);
    const std::int32_t by_right =
        value[fork.right] - static_cast<std::int32_t>(betas[fork.gate + 1] - betas[fork.right_begin]);
    lead[n] = by_left - by_right;
    value[n] = std::max(by_left, by_right);
  }
  bound_ = r.offset + to_left;  // who goes left everywhere earns all alphas; the features add what is better
  for (const std::int32_t root : r.roots) bound_ += value[root];
  evaluate_features();
  return bound_;
}

void Lagrangian::evaluate_features() {
  const Residual& r = *residual_;
  const std::int64_t* const turn = turn_.data();
  std::uint8_t* const slot_left = slot_left_.data();
  std::int64_t bound = bound_;
  for (std::size_t i = 0; i < r.features.size(); ++i) {
    const std::int32_t f = r.features[i], begin = r.slot_begin[i], end = r.slot_begin[i + 1];
    if (forest_.ordered[f]) {
      // The first cells go left at every split; behind a split a cell earns for going right there instead.
      std::int64_t more = 0, most = 0;
      std::int32_t past = begin;  // the best cells lie behind the splits before `past`
      for (std::int32_t s = begin; s < end; ++s) {
        more += turn[s];
        past = more > most ? s + 1 : past;
        most = std::max(more, most);
      }
      best_earning_[i] = most;
      best_cell_[i] = past == begin ? box_->low[f] : r.slot_cut[past - 1] + 1;
      for (std::int32_t s = begin; s < end; ++s) slot_left[s] = s >= past;
    } else if (forest_.gapped[f]) {
      evaluate_gapped(i);
    } else {
      bool any = false;
      for (std::size_t w = forest_.words_begin[f]; w < forest_.words_begin[f + 1]; ++w) {
        for (Word rest = box_->sets[w]; rest != 0; rest &= rest - 1) {
          const Cell cell = static_cast<Cell>((w - forest_.words_begin[f]) * 64) + std::countr_zero(rest);
          std::int64_t earning = 0;
          for (std::int32_t s = begin; s < end; ++s)
            if (!forest_.goes_left(r.slot_node[s], cell)) earning += turn[s];
          if (!any || earning > best_earning_[i]) {
            best_earning_[i] = earning;
            best_cell_[i] = cell;
            any = true;
          }
        }
      }
      for (std::int32_t s = begin; s < end; ++s) slot_left[s] = forest_.goes_left(r.slot_node[s], best_cell_[i]);
    }
    bound += best_earning_[i];
  }
  bound_ = bound;
  // Where prices are 0 all cells are as good. So the only node of a feature gets the cell that its tree likes best, and
  // its prices stay 0.
  for (const auto& [node, i] : r.singles) {
    const std::int32_t slot = r.slot_begin[i];
    slot_left[slot] = lead_[node] > 0;
    best_cell_[i] = slot_left[slot] ? box_->low[r.features[i]] : r.slot_cut[slot] + 1;
  }
}

// Numbers earn along their order, as the cells of an ordered feature do; missing values are one candidate more.
void Lagrangian::evaluate_gapped(std::size_t i) {
  const Residual& r = *residual_;
  const std::int32_t f = r.features[i], begin = r.slot_begin[i], end = r.slot_begin[i + 1];
  bool any = box_->missing[f];
  if (any) {
    best_earning_[i] = missing_earning(i);
    best_cell_[i] = forest_.missing_cell(f);
  }
  std::int64_t earning = 0;
  for (std::int32_t position = begin; position <= end; ++position) {
    if (position > begin) earning += turn_[position - 1];
    if (any && earning <= best_earning_[i]) continue;
    const Residual::Stretch cells = r.stretch(*box_, i, position);
    if (cells.empty()) continue;
    best_earning_[i] = earning;
    best_cell_[i] = cells.first;
    any = true;
  }
  const bool missing = best_cell_[i] == forest_.missing_cell(f);
  for (std::int32_t s = begin; s < end; ++s)
    slot_left_[s] = missing ? Forest::missing_left(r.slot_cut[s]) : best_cell_[i] < Forest::numbers_left(r.slot_cut[s]);
}

// What missing values of the i-th feature, a gapped one, earn.
std::int64_t Lagrangian::missing_earning(std::size_t i) const {
  std::int64_t earning = 0;
  for (std::int32_t s = residual_->slot_begin[i]; s < residual_->slot_begin[i + 1]; ++s)
    if (!Forest::missing_left(residual_->slot_cut[s])) earning += turn_[s];
  return earning;
}

bool Lagrangian::closes(std::int64_t target, std::int64_t exact_target) {
  if (bound_ < target) return true;
  const Residual& r = *residual_;
  if (bound_ >= exact_target || r.offset_inexact) return false;
  through_.resize(r.nodes.size());
  for (const std::int32_t root : r.roots) through_[root] = bound_;
  for (std::int32_t n = r.n_nodes() - 1; n >= 0; --n) {
    for (const auto& [child, loss] : {std::pair(r.nodes[n].left, -lead_[n]), std::pair(r.nodes[n].right, lead_[n])}) {
      const std::int64_t there = through_[n] - std::max(loss, 0);
      if (child >= 0) {
        through_[child] = there;
      } else if (r.inexact[~child] && there >= target) {
        return false;
      }
    }
  }
  return true;
}

std::int64_t Lagrangian::value_of_best_cells() const {
  const Residual& r = *residual_;
  const Residual::Fork* const nodes = r.nodes.data();
  const std::uint8_t* const slot_left = slot_left_.data();
  std::int64_t sum = r.offset;
  for (std::int32_t at : r.roots) {
    do {
      at = slot_left[nodes[at].slot] ? nodes[at].left : nodes[at].right;
    } while (at >= 0);
    sum += r.constants[~at];
  }
  for (std::size_t s = 0; s < r.slot_turn.size(); ++s) sum += slot_left[s] ? 0 : r.slot_turn[s];
  return sum;
}

void Lagrangian::place_best_cells(std::vector<Cell>& point) const {
  for (std::size_t i = 0; i < residual_->features.size(); ++i) point[residual_->features[i]] = best_cell_[i];
}

// Which way paths go is unpredictable, so the loops below compute with flags instead of branching on them.
bool Lagrangian::step(std::int64_t target, double scale) {
  const Residual& r = *residual_;
  const std::int32_t n_gates = r.n_gates();
  // Bytes may alias everything, so pointers to vectors are read once.
  const std::uint8_t* const slot_left = slot_left_.data();
  const Residual::Fork* const nodes = r.nodes.data();
  const std::int32_t *const slot = r.gate_slot.data(), *const lead = lead_.data(), *const alpha = alpha_.data(),
                            *const beta = beta_.data();
  std::int32_t *const implied = implied_.data(), *const disagreement = disagreement_.data();
  std::int32_t *const lower_alpha = lower_alpha_.data(), *const lower_beta = lower_beta_.data();
  // Where the sides begin and end that the best paths imply; sums of these tell them for each gate.
  for (std::int32_t at : r.roots) {
    do {
      const Residual::Fork& fork = nodes[at];
      const std::int32_t cell_left = slot_left[fork.slot];
      const bool path_left = lead[at] + cell_left > 0;  // where both sides are as good, agree with the cell
      const std::int32_t count = path_left ? 1 : 1 << kRightBits;
      implied[path_left ? fork.gate : fork.right_begin] += count;
      implied[path_left ? fork.left_end : fork.gate + 1] -= count;
      disagreement[fork.slot] += static_cast<std::int32_t>(path_left) ^ cell_left;
      at = path_left ? fork.left : fork.right;
    } while (at >= 0);
  }
  // The subgradient of alpha_g is [the feature's cell goes left] - [the path implies left], of beta_g likewise. A price
  // of 0 cannot fall.
  std::int32_t length = 0, sides = 0;
  for (std::int32_t g = 0; g < n_gates; ++g) {
    sides += implied[g];
    implied[g] = 0;
    const std::int32_t left = sides & 1, right = sides >> kRightBits, cell_left = slot_left[slot[g]];
    lower_alpha[g] = (cell_left & ((alpha[g] > 0) | left)) - left;
    lower_beta[g] = ((1 - cell_left) & ((beta[g] > 0) | right)) - right;
    length += (lower_alpha[g] & 1) + (lower_beta[g] & 1);
  }
  implied[n_gates] = 0;
  if (length == 0) return false;
  move_ = length_of_move(bound_ - target, length, scale);
  return true;
}

void Lagrangian::keep_prices() {
  best_alpha_ = alpha_;
  best_beta_ = beta_;
}

void Lagrangian::restore_prices() {
  alpha_.swap(best_alpha_);
  beta_.swap(best_beta_);
  move_ = 0;
}

std::vector<std::int32_t> Lagrangian::nonzero_prices() const {
  std::vector<std::int32_t> entries;
  for (std::size_t g = 0; g < alpha_.size(); ++g)
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
      std::int32_t first = begin;
      for (; best_earning_[i] - earning > slack; ++first) earning += turn_[first];
      earning = std::accumulate(turn_.begin() + begin, turn_.begin() + end, std::int64_t{0});
      std::int32_t last = end;
      while (best_earning_[i] - earning > slack) earning -= turn_[--last];
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
        std::int64_t earning = 0;
        std::int32_t at = begin;
        for (; at <= end; ++at) {
          if (at > begin) earning += turn_[at - 1];
          if (best_earning_[i] - earning <= slack && !r.stretch(box, i, at).empty()) break;
        }
        first = at > end ? high + 1 : r.stretch(box, i, at).first;
        earning = std::accumulate(turn_.begin() + begin, turn_.begin() + end, std::int64_t{0});
        for (at = end; first <= high; --at) {
          if (at < end) earning -= turn_[at];
          if (best_earning_[i] - earning <= slack && !r.stretch(box, i, at).empty()) break;
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
            if (!forest_.goes_left(r.slot_node[s], cell)) earning += turn_[s];
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
  for (const std::int32_t root : r.roots) {
    if (empty) break;
    const std::int32_t node = r.nodes[root].origin;
    const bool no_left = -lead_[root] > slack, no_right = lead_[root] > slack;
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

Branches Lagrangian::branches(std::size_t most) const {
  return choose_branches(
      *residual_, most, [&](std::int32_t s) { return disagreement_[s]; },
      [&](std::int32_t s) { return slot_left_[s] != 0; });
}

void Prices::store(const Residual& residual, const std::vector<std::int32_t>& alpha,
                   const std::vector<std::int32_t>& beta) {
  for (std::size_t g = 0; g < alpha.size(); ++g) set(residual.gate_origin[g], alpha[g], beta[g]);
}

}  // namespace treeproof
