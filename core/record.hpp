// The record of a proof: a split tree of a box whose leaves say why they are closed. Anyone can check it with the
// forest alone (treeproof/checker.py does); the search that found it need not be trusted.
//
// Written in preorder as one list of integers. Boxes are cells, as in Forest.
//
//   kRival k                     what follows proves that no point of the box has the label k
//   kOrdered f low high          split: first the part where feature f lies in low..high, then the rest of the box
//   kSet f words...              split: first the part where feature f lies in this set, then the rest
//   kPrices winner loser table   leaf: with the prices of the table, the bound on the pair is below what it takes to
//   win kEvaluated                   leaf: every tree has one value left, and the model's own sums keep the claim
//   kBroken c                    leaf: every point breaks clause c
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "box.hpp"

namespace treeproof {

class Recorder {
 public:
  enum Step : std::int32_t { kRival = 1, kOrdered, kSet, kPrices, kEvaluated, kBroken };

  explicit Recorder(const Forest& forest) : forest_(forest) {}

  void rival(int k) { put({kRival, k}); }
  void evaluated() { put({kEvaluated}); }
  void broken(std::size_t clause) { put({kBroken, static_cast<std::int32_t>(clause)}); }
  void prices(Pair pair, std::int32_t table) { put({kPrices, pair.winner, pair.loser, table}); }

  // The box is split; `first`, examined next, differs from it in feature f only.
  void split(const Box& first, int f) {
    if (forest_.ordered[f]) return put({kOrdered, f, first.low[f], first.high[f]});
    put({kSet, f});
    for (Cell begin = 0; begin < forest_.n_cells[f]; begin += 32) {
      std::uint32_t half = 0;
      for (Cell cell = begin; cell < std::min(begin + 32, forest_.n_cells[f]); ++cell)
        half |= static_cast<std::uint32_t>(first.has(forest_, f, cell)) << (cell - begin);
      steps_.push_back(static_cast<std::int32_t>(half));
    }
    if ((forest_.n_cells[f] + 31) / 32 % 2 == 1) steps_.push_back(0);  // to the end of a word
  }

  // A table of prices: node, alpha, beta of every node whose price is not 0. Equal tables are stored once.
  std::int32_t table(std::vector<std::int32_t> entries) {
    const auto [at, is_new] = known_.emplace(std::move(entries), static_cast<std::int32_t>(tables_.size()));
    if (is_new) {
      tables_.push_back(at->first);
      priced_ += at->first.size();
    }
    return at->second;
  }

  std::size_t size() const { return steps_.size() + priced_; }  // numbers of the record
  const std::vector<std::int32_t>& steps() const { return steps_; }
  const std::vector<std::vector<std::int32_t>>& tables() const { return tables_; }

 private:
  void put(std::initializer_list<std::int32_t> step) { steps_.insert(steps_.end(), step); }

  const Forest& forest_;
  std::vector<std::int32_t> steps_;
  std::vector<std::vector<std::int32_t>> tables_;
  std::size_t priced_ = 0;  // numbers in tables
  std::map<std::vector<std::int32_t>, std::int32_t> known_;
};

}  // namespace treeproof
