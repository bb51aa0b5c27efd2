#include "lanes.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace treeproof {
namespace {

using Eight = Lanes::Eight;
using Four = Lanes::Four;
using Half = std::int32_t __attribute__((vector_size(2 * Lanes::kLanes), may_alias));
using Modular = std::uint32_t __attribute__((vector_size(4 * Lanes::kLanes)));

// What a side that a part excludes is worth less. No value less payments is below -2^30, so that this fits 32 bits; and
// if one as large as that is not outweighed, the bound is still one.
constexpr std::int32_t kNever = -(1 << 30);
constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::min() / 2;
constexpr std::int32_t kMostInSum = 64;  // prices, of 2^24 at most, that are added in 32 bits
// Bits of many gates, which are compared at once.
constexpr int kMany = 32;
using Many = std::uint8_t __attribute__((vector_size(kMany), may_alias));
constexpr std::int32_t kMostInBytes = 127;  // gates whose two prices a byte can count
constexpr std::int32_t kLargestEarning = 1 << 30;

// What all sets of lanes are as vectors with all bits of their lanes.
struct Tables {
  alignas(Lanes::kAlignment) Eight mask[256];

  Tables() {
    for (int set = 0; set < 256; ++set)
      for (int lane = 0; lane < Lanes::kLanes; ++lane) mask[set][lane] = -(set >> lane & 1);
  }
};
const Tables tables;

// The halves of a vector in memory, with room for sums.
[[gnu::always_inline]] inline void widen(const Eight* from, Four& low, Four& high) {
  const Half* const halves = reinterpret_cast<const Half*>(from);
  low = __builtin_convertvector(halves[0], Four);
  high = __builtin_convertvector(halves[1], Four);
}

}  // namespace

// Compiled once for any processor, and once for those with AVX2, whose vectors hold eight numbers.
struct Lanes::Pass {
  // The lanes in which a comparison holds.
  template <bool kAvx2>
  [[gnu::always_inline]] static inline Lanes::Bits bits(const Eight& holds) {
#if defined(__x86_64__) && !defined(__clang__)
    if constexpr (kAvx2) {
      using Floats = float __attribute__((vector_size(4 * kLanes)));
      return static_cast<Lanes::Bits>(__builtin_ia32_movmskps256(reinterpret_cast<Floats>(holds)));
    }
#endif
    const Eight weights = {1, 2, 4, 8, 16, 32, 64, 128}, some = holds & weights;
    std::uint64_t words[4];
    std::memcpy(words, &some, sizeof(words));
    const std::uint64_t all = words[0] | words[1] | words[2] | words[3];
    return static_cast<Lanes::Bits>(all | all >> 32);
  }

  template <bool kAvx2>
  [[gnu::always_inline]] static inline void evaluate(Lanes& lanes) {
    const Residual& r = *lanes.residual_;
    Eight* const turn = lanes.turn_.data();
    std::fill(lanes.turn_.begin(), lanes.turn_.end(), Eight{});
    const std::int32_t n_gates = r.n_gates(), n_nodes = r.n_nodes();
    const std::int32_t* const slot = r.gate_slot.data();
    const Eight move = lanes.move_, largest = Eight{} + lanes.largest_price_, none = {};
    const Eight* const mask = tables.mask;
    Lanes::Bits *const alpha_positive = lanes.alpha_positive_.data(), *const beta_positive =
                                                                          lanes.beta_positive_.data();
    const Lanes::Bits *const alpha_falls = lanes.alpha_falls_.data(), *const alpha_rises = lanes.alpha_rises_.data(),
                             *const beta_falls = lanes.beta_falls_.data(), *const beta_rises = lanes.beta_rises_.data();
    Eight *const alpha = lanes.alpha_.data(), *const beta = lanes.beta_.data();
    auto* const alphas = reinterpret_cast<Modular*>(lanes.alphas_.data());
    auto* const betas = reinterpret_cast<Modular*>(lanes.betas_.data());
    Modular to_left = {}, to_right = {};
    // Who goes left everywhere earns all alphas; the features add what is better.
    Four low_bound = Four{} + r.offset, high_bound = low_bound;
    Four low, high;
    const auto add = [&](const Eight* numbers) __attribute__((always_inline)) {
      widen(numbers, low, high);
      low_bound += low;
      high_bound += high;
    };
    for (std::int32_t begin = 0; begin < n_gates; begin += kMostInSum) {
      Eight sum = {};
      for (std::int32_t g = begin, end = std::min(n_gates, begin + kMostInSum); g < end; ++g) {
        Eight a = alpha[g] - (move & mask[alpha_falls[g]]) + (move & mask[alpha_rises[g]]);
        Eight b = beta[g] - (move & mask[beta_falls[g]]) + (move & mask[beta_rises[g]]);
        a = a < none ? none : a > largest ? largest : a;
        b = b < none ? none : b > largest ? largest : b;
        alpha[g] = a;
        beta[g] = b;
        alpha_positive[g] = bits<kAvx2>(a > none);
        beta_positive[g] = bits<kAvx2>(b > none);
        alphas[g] = to_left;
        betas[g] = to_right;
        to_left += reinterpret_cast<Modular>(a);
        to_right += reinterpret_cast<Modular>(b);
        sum += a;
        turn[slot[g]] += b - a;
      }
      add(&sum);
    }
    alphas[n_gates] = to_left;
    betas[n_gates] = to_right;
    lanes.move_ = none;
    const Residual::Fork* const nodes = r.nodes.data();
    const Eight *const no_left = lanes.no_left_.data(), *const no_right = lanes.no_right_.data();
    Eight* const value = lanes.value_.data() + r.n_constants();
    Better* const better = lanes.better_.data();
    for (std::int32_t n = 0; n < n_nodes; ++n) {
      const Residual::Fork& fork = nodes[n];
      const Eight left =
          value[fork.left] - reinterpret_cast<Eight>(alphas[fork.left_end] - alphas[fork.gate]) + no_left[fork.slot];
      const Eight right = value[fork.right] - reinterpret_cast<Eight>(betas[fork.gate + 1] - betas[fork.right_begin]) +
                          no_right[fork.slot];
      better[n].left = bits<kAvx2>(left > right);
      better[n].neither = bits<kAvx2>(left == right);
      value[n] = left > right ? left : right;
    }
    for (const std::int32_t root : r.roots) add(&value[root]);
    Lanes::Bits* const slot_left = lanes.slot_left_.data();
    for (std::size_t i = 0; i < r.features.size(); ++i) {
      const std::int32_t begin = r.slot_begin[i], end = r.slot_begin[i + 1];
      Four low_most = Four{} + kNowhere, high_most = low_most, low_more = {}, high_more = {};
      Four low_past = {}, high_past = {};
      Four low_first, high_first, low_last, high_last;
      widen(&lanes.first_[i], low_first, high_first);
      widen(&lanes.last_[i], low_last, high_last);
      for (std::int32_t s = begin; s <= end; ++s) {
        if (s > begin) {
          widen(&turn[s - 1], low, high);
          low_more += low + r.slot_turn[s - 1];
          high_more += high + r.slot_turn[s - 1];
        }
        const Four low_better = (low_more > low_most) & (low_first <= s) & (low_last >= s);
        const Four high_better = (high_more > high_most) & (high_first <= s) & (high_last >= s);
        low_past = low_better ? Four{} + s : low_past;
        low_most = low_better ? low_more : low_most;
        high_past = high_better ? Four{} + s : high_past;
        high_most = high_better ? high_more : high_most;
      }
      low_bound += low_most;
      high_bound += high_most;
      const Half halves[] = {__builtin_convertvector(low_past, Half), __builtin_convertvector(high_past, Half)};
      Eight past;
      std::memcpy(&past, halves, sizeof(past));
      for (std::int32_t s = begin; s < end; ++s) slot_left[s] = bits<kAvx2>(past <= s);
    }
    for (const auto& [node, i] : r.singles) slot_left[r.slot_begin[i]] = better[node].left;
    std::memcpy(lanes.bound_.data(), &low_bound, sizeof(low_bound));
    std::memcpy(lanes.bound_.data() + kLanes / 2, &high_bound, sizeof(high_bound));
  }

  // Follow the best paths, and find the prices that have to move.
  [[gnu::always_inline]] static inline void follow(Lanes& lanes) {
    const Residual& r = *lanes.residual_;
    const Residual::Fork* const nodes = r.nodes.data();
    const Lanes::Bits* const slot_left = lanes.slot_left_.data();
    const Better* const better = lanes.better_.data();
    Lanes::Bits* const reached = lanes.reached_.data() + r.n_constants();
    Sides* const implied = lanes.implied_.data();
    Eight* const disagreement = lanes.disagreement_.data();
    for (const std::int32_t root : r.roots) reached[root] = 0xff;
    // Along the gates of a tree, the sides that a path implies change where one begins or ends: no two overlap. Which
    // nodes are reached in no lane is unpredictable, so that leaving them out would take longer.
    for (std::int32_t n = r.n_nodes() - 1; n >= 0; --n) {
      const Residual::Fork& fork = nodes[n];
      const Lanes::Bits here = reached[n], cell_left = slot_left[fork.slot];
      // Where both sides are as good, agree with the cell.
      const Lanes::Bits path_left = better[n].left | (better[n].neither & cell_left);
      const Lanes::Bits left = here & path_left, right = here & ~path_left;
      reached[fork.left] = left;
      reached[fork.right] = right;
      implied[fork.gate].left ^= left;
      implied[fork.left_end].left ^= left;
      implied[fork.right_begin].right ^= right;
      implied[fork.gate + 1].right ^= right;
      disagreement[fork.slot] -= tables.mask[here & (path_left ^ cell_left)];
    }
    const std::int32_t n_gates = r.n_gates();
    const std::int32_t* const slot = r.gate_slot.data();
    Lanes::Bits *const path_left = lanes.path_left_.data(), *const path_right = lanes.path_right_.data(),
                       *const cell_left = lanes.cell_left_.data();
    Lanes::Bits left = 0, right = 0;
    for (std::int32_t g = 0; g < n_gates; ++g) {
      left ^= implied[g].left;
      right ^= implied[g].right;
      implied[g] = {};
      path_left[g] = left;
      path_right[g] = right;
      cell_left[g] = slot_left[slot[g]];
    }
    implied[n_gates] = {};
    // The subgradient of a price is [the feature's cell goes there] - [the path implies it]; one of 0 cannot fall.
    lanes.length_.fill(0);
    const auto at = [](Lanes::Vector<Lanes::Bits>& bits) { return reinterpret_cast<Many*>(bits.data()); };
    const Many *const lefts = at(lanes.path_left_), *const rights = at(lanes.path_right_),
                      *const cells = at(lanes.cell_left_), *const alphas = at(lanes.alpha_positive_),
                      *const betas = at(lanes.beta_positive_);
    Many *const alpha_falls = at(lanes.alpha_falls_), *const alpha_rises = at(lanes.alpha_rises_),
                *const beta_falls = at(lanes.beta_falls_), *const beta_rises = at(lanes.beta_rises_);
    const std::int32_t n = (n_gates + kMany - 1) / kMany;
    for (std::int32_t begin = 0; begin < n; begin += kMostInBytes) {
      Many counts[kLanes] = {};
      for (std::int32_t i = begin; i < std::min(n, begin + kMostInBytes); ++i) {
        const Many l = lefts[i], r = rights[i], c = cells[i];
        alpha_falls[i] = c & alphas[i] & ~l;
        alpha_rises[i] = l & ~c;
        beta_falls[i] = betas[i] & ~(c | r);
        beta_rises[i] = r & c;
        const Many a = alpha_falls[i] | alpha_rises[i], b = beta_falls[i] | beta_rises[i];
        for (int lane = 0; lane < kLanes; ++lane) {
          const auto set = static_cast<std::uint8_t>(1 << lane);
          const Many bit = Many{} + set;
          counts[lane] -= reinterpret_cast<Many>((a & bit) == bit);
          counts[lane] -= reinterpret_cast<Many>((b & bit) == bit);
        }
      }
      for (int lane = 0; lane < kLanes; ++lane)
        for (int i = 0; i < kMany; ++i) lanes.length_[lane] += counts[lane][i];
    }
  }

  [[gnu::always_inline]] static inline void keep(Lanes& lanes, const std::array<bool, kLanes>& which) {
    Eight mask = {};
    for (int lane = 0; lane < kLanes; ++lane) mask[lane] = which[lane] ? -1 : 0;
    const Eight *const alpha = lanes.alpha_.data(), *const beta = lanes.beta_.data();
    Eight *const best_alpha = lanes.best_alpha_.data(), *const best_beta = lanes.best_beta_.data();
    for (std::size_t g = 0; g < lanes.alpha_.size(); ++g) {
      best_alpha[g] = mask ? alpha[g] : best_alpha[g];
      best_beta[g] = mask ? beta[g] : best_beta[g];
    }
  }

  static void evaluate_anywhere(Lanes& lanes) { evaluate<false>(lanes); }
  static void follow_anywhere(Lanes& lanes) { follow(lanes); }
  static void keep_anywhere(Lanes& lanes, const std::array<bool, kLanes>& which) { keep(lanes, which); }
#ifdef __x86_64__
  [[gnu::target("avx2")]] static void evaluate_avx2(Lanes& lanes) { evaluate<true>(lanes); }
  [[gnu::target("avx2")]] static void follow_avx2(Lanes& lanes) { follow(lanes); }
  [[gnu::target("avx2")]] static void keep_avx2(Lanes& lanes, const std::array<bool, kLanes>& which) {
    keep(lanes, which);
  }
#endif
};

Lanes::Passes Lanes::passes(bool anywhere) {
#ifdef __x86_64__
  if (!anywhere && __builtin_cpu_supports("avx2")) return {Pass::evaluate_avx2, Pass::follow_avx2, Pass::keep_avx2};
#else
  static_cast<void>(anywhere);
#endif
  return {Pass::evaluate_anywhere, Pass::follow_anywhere, Pass::keep_anywhere};
}

bool Lanes::takes(const Forest& forest, const Residual& residual) {
  return residual.nodes.size() <= kMostNodes && std::all_of(residual.features.begin(), residual.features.end(),
                                                            [&](std::int32_t f) { return forest.ordered[f]; });
}

void Lanes::start(const Residual& residual, const std::vector<Box>& parts, const Lagrangian& prices) {
  residual_ = &residual;
  const std::size_t n = residual.nodes.size(), slots = residual.slot_node.size(), gates = residual.gate_slot.size();
  const std::size_t features = residual.features.size(), constants = residual.constants.size();
  // What the gates of a slot earn together has to fit 32 bits.
  std::vector<std::int32_t> sharers(slots, 0);
  for (const std::int32_t slot : residual.gate_slot) ++sharers[slot];
  const std::int32_t most = slots == 0 ? 1 : *std::max_element(sharers.begin(), sharers.end());
  largest_price_ = std::min(prices.price_limit(), kLargestEarning / std::max(most, 1));
  for (auto* numbers : {&alpha_, &beta_, &best_alpha_, &best_beta_}) numbers->resize(gates);
  for (auto* numbers : {&alphas_, &betas_}) numbers->resize(gates + 1);
  for (std::size_t g = 0; g < gates; ++g) {
    best_alpha_[g] = alpha_[g] = Eight{} + std::min(prices.alpha()[g], largest_price_);
    best_beta_[g] = beta_[g] = Eight{} + std::min(prices.beta()[g], largest_price_);
  }
  move_ = Eight{};
  const std::size_t room = (gates + kMany - 1) / kMany * kMany;
  for (auto* bits : {&alpha_positive_, &beta_positive_, &alpha_falls_, &alpha_rises_, &beta_falls_, &beta_rises_,
                     &path_left_, &path_right_, &cell_left_})
    bits->assign(room, 0);
  implied_.assign(gates + 1, {});
  value_.resize(constants + n);
  for (std::size_t c = 0; c < constants; ++c) value_[constants - 1 - c] = Eight{} + residual.constants[c];
  better_.assign(n, {});
  reached_.assign(constants + n, 0);
  turn_.resize(slots);
  slot_left_.resize(slots);
  disagreement_.assign(slots, Eight{});
  no_left_.resize(slots);
  no_right_.resize(slots);
  first_.resize(features);
  last_.resize(features);
  for (int lane = 0; lane < kLanes; ++lane)
    exclude(lane, parts[std::min(static_cast<std::size_t>(lane), parts.size() - 1)]);
}

void Lanes::take(int lane, const Box& part, int from) {
  for (std::size_t g = 0; g < alpha_.size(); ++g) {
    alpha_[g][lane] = best_alpha_[g][lane] = best_alpha_[g][from];
    beta_[g][lane] = best_beta_[g][lane] = best_beta_[g][from];
  }
  for (Eight& count : disagreement_) count[lane] = 0;
  move_[lane] = 0;
  exclude(lane, part);
}

// Let the paths and cells of a lane keep to a part.
void Lanes::exclude(int lane, const Box& part) {
  const Residual& r = *residual_;
  for (std::size_t i = 0; i < r.features.size(); ++i) {
    const std::int32_t begin = r.slot_begin[i], end = r.slot_begin[i + 1];
    const Cell low = part.low[r.features[i]], high = part.high[r.features[i]];
    first_[i][lane] = begin;
    last_[i][lane] = end;
    for (std::int32_t s = begin; s < end; ++s) {
      const bool no_left = low > r.slot_cut[s], no_right = high <= r.slot_cut[s];
      no_left_[s][lane] = no_left ? kNever : 0;
      no_right_[s][lane] = no_right ? kNever : 0;
      first_[i][lane] += no_left;
      last_[i][lane] -= no_right;
    }
  }
}

void Lanes::step(const std::array<std::int64_t, kLanes>& target, const std::array<double, kLanes>& scale,
                 std::array<bool, kLanes>& moves) {
  passes_.follow(*this);
  for (int lane = 0; lane < kLanes; ++lane) {
    moves[lane] = length_[lane] > 0;
    if (moves[lane] && scale[lane] != 0)
      move_[lane] = length_of_move(bound_[lane] - target[lane], length_[lane], scale[lane]);
  }
}

void Lanes::best_prices(int lane, std::vector<std::int32_t>& alpha, std::vector<std::int32_t>& beta) const {
  alpha.resize(best_alpha_.size());
  beta.resize(best_beta_.size());
  for (std::size_t g = 0; g < alpha.size(); ++g) {
    alpha[g] = best_alpha_[g][lane];
    beta[g] = best_beta_[g][lane];
  }
}

Branches Lanes::branches(int lane, std::size_t most) const {
  return choose_branches(
      *residual_, most, [&](std::int32_t s) { return disagreement_[s][lane]; },
      [&](std::int32_t s) { return (slot_left_[s] >> lane & 1) != 0; });
}

}  // namespace treeproof
