#include "deletion.hpp"

#include <chrono>

namespace treeproof {

Deletion delete_features(Searcher& searcher, const Forest& forest, const std::vector<Cell>& point, Claim claim,
                         const Box& free, const std::vector<std::int32_t>& order,
                         const std::vector<std::uint8_t>& start, const Poll& must_stop) {
  Deletion result;
  result.kept = start;
  result.used_clauses.assign(forest.clauses.size(), 0);
  Box box = free;
  for (int f = 0; f < forest.n_features; ++f)
    if (start[f]) box.fix(forest, f, point[f]);
  // The last proved set, of kept features: sufficient while the others keep to their free cells.
  std::vector<std::uint8_t> enough = start;
  for (const std::int32_t f : order) {
    if (!result.kept[f]) continue;
    result.kept[f] = 0;
    box.take(forest, f, free);
    if (free.is_only(forest, f, point[f])) enough[f] = 0;
    if (!enough[f]) {
      ++result.tally.remembered;
      continue;
    }
    const auto began = std::chrono::steady_clock::now();
    Outcome outcome = searcher.decide(box, claim, point, must_stop);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    result.tally.count(outcome, seconds);
    if (outcome.status == Status::entailed) {
      for (int g = 0; g < forest.n_features; ++g) enough[g] = outcome.used[g] && result.kept[g];
      result.used_clauses = std::move(outcome.used_clauses);
      continue;
    }
    result.kept[f] = 1;
    box.fix(forest, f, point[f]);
    if (outcome.status == Status::stopped) {
      ++result.tally.unknown;
      result.minimal = false;
      result.kept = enough;
      return result;
    }
  }
  return result;
}

}  // namespace treeproof
