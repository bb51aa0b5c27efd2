// The Lagrangian bound (see lagrangian.hpp) for the parts of a box, eight at a time.
//
// The bounds of parts (see parts.hpp) are improved side by side, on the residual forest of the whole box: a number of
// the scalar bound is a vector here, with one lane for each part, and one pass over the nodes serves all. Where a part
// excludes a side of a split, no path of its lane goes there. Each lane has prices of its own; all begin with those of
// the box.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "box.hpp"
#include "lagrangian.hpp"
#include "residual.hpp"

namespace treeproof {

class Lanes {
 public:
  static constexpr int kLanes = 8;
  static constexpr std::size_t kAlignment = 64;
  using Eight = std::int32_t __attribute__((vector_size(4 * kLanes)));
  using Four = std::int64_t __attribute__((vector_size(4 * kLanes)));  // for sums, in halves: the vectors are as long

  // Aligned as vectors of any processor like them: compilers do not agree on how these types are.
  template <typename T>
  struct Allocator {
    using value_type = T;
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(kAlignment))); }
    void deallocate(T* numbers, std::size_t) { ::operator delete(numbers, std::align_val_t(kAlignment)); }
    friend bool operator==(const Allocator&, const Allocator&) { return true; }
  };
  template <typename T>
  using Vector = std::vector<T, Allocator<T>>;

  // With loops for the processor at hand, or for any.
  explicit Lanes(bool anywhere = false) : passes_(passes(anywhere)) {}

  // Whether it takes a residual forest: one with ordered features only, and not so large that the vectors, of which
  // every depth of a search has its own, fill the memory.
  static constexpr std::size_t kMostNodes = 1U << 16;
  static bool takes(const Forest& forest, const Residual& residual);

  // Start on at most eight parts of the box of a residual forest, with the prices of a bound on it.
  void start(const Residual& residual, const std::vector<Box>& parts, const Lagrangian& prices);

  // Go on with another part in a lane, from the best prices of a lane, perhaps its own.
  void take(int lane, const Box& part, int from);

  // Move the prices as the last step says, and recompute all bounds.
  void evaluate() { passes_.evaluate(*this); }
  std::int64_t bound(int lane) const { return bound_[lane]; }

  // Find out how to move the prices of each lane towards a bound of `target`, with a step of this scale; 0: not at all.
  // Sets `moves` to whether a price can.
  void step(const std::array<std::int64_t, kLanes>& target, const std::array<double, kLanes>& scale,
            std::array<bool, kLanes>& moves);

  // Remember the current prices of these lanes as their best; and those of a lane, per gate of the residual forest.
  void keep_prices(const std::array<bool, kLanes>& which) { passes_.keep(*this, which); }
  void best_prices(int lane, std::vector<std::int32_t>& alpha, std::vector<std::int32_t>& beta) const;

  // As that of Lagrangian, for the part of a lane.
  Branches branches(int lane, std::size_t most) const;

 private:
  // The loops over gates and nodes, compiled for several processors.
  struct Pass;
  struct Passes {
    void (*evaluate)(Lanes&);
    void (*follow)(Lanes&);
    void (*keep)(Lanes&, const std::array<bool, kLanes>&);
  };
  static Passes passes(bool anywhere);
  void exclude(int lane, const Box& part);

  const Passes passes_;
  const Residual* residual_ = nullptr;
  std::int32_t largest_price_ = 0;
  std::array<std::int64_t, kLanes> bound_{};
  alignas(kAlignment) Eight move_{};  // by how much the next evaluation moves prices
  std::array<std::int32_t, kLanes> length_{};  // how many prices that are
  Vector<Eight> alpha_, beta_, best_alpha_, best_beta_;  // per gate
  Vector<Eight> alphas_, betas_;  // per gate and behind the last: sums of those before it, modulo 2^32
  Vector<Eight> value_;  // per constant, the last one first, and node
  Vector<Eight> turn_;  // per slot: what a cell earns more that goes right than one that goes left
  Vector<Eight> disagreement_;  // per slot
  // A bit for each lane where nothing is counted.
  using Bits = std::uint8_t;
  struct Sides {
    Bits left = 0, right = 0;
  };
  struct Better {
    Bits left = 0, neither = 0;  // the left side is worth more; neither is
  };
  Vector<Bits> alpha_positive_, beta_positive_;  // per gate: the price is above 0
  Vector<Bits> alpha_falls_, alpha_rises_, beta_falls_, beta_rises_;  // per gate: when prices move
  Vector<Bits> path_left_, path_right_, cell_left_;  // per gate: the sides that the best path implies; the best cell's
  std::vector<Sides> implied_;  // per gate and behind the last: where that changes; all 0 but within a step
  std::vector<Better> better_;  // per node
  std::vector<Bits> reached_;  // per constant, the last one first, and node: the best path leads there
  std::vector<Bits> slot_left_;  // per slot
  Vector<Eight> no_left_, no_right_;  // per slot: what that side is worth less, where a part excludes it
  Vector<Eight> first_, last_;  // per feature: the positions among its slots that a part has
};

}  // namespace treeproof
