#include "forest.hpp"

#include <algorithm>

namespace treeproof {

void Forest::derive() {
  scale = Scale(*this);
  words_begin.assign(1, 0);
  for (int f = 0; f < n_features; ++f) {
    const std::size_t words = ordered[f] ? 0 : (static_cast<std::size_t>(n_cells[f]) + 63) / 64;
    words_begin.push_back(words_begin.back() + words);
  }
}

int Forest::label(const std::vector<Cell>& point) const {
  const auto leaf_of = [&](std::int32_t node) {
    while (feature[node] >= 0) node = goes_left(node, point[feature[node]]) ? left[node] : right[node];
    return node;
  };
  const auto first_maximum = [](const auto& sums) {
    return static_cast<int>(std::max_element(sums.begin(), sums.end()) - sums.begin());
  };
  if (vote == Vote::majority) {
    std::vector<std::int64_t> sums(n_classes, 0);
    for (const std::int32_t root : roots) {
      const std::int64_t* score = scores_of(leaf_of(root));
      for (int k = 0; k < n_classes; ++k) sums[k] += score[k];
    }
    return first_maximum(sums);
  }
  std::vector<double> sums(n_classes, 0.0);
  for (const std::int32_t root : roots) {
    const double* value = &values[static_cast<std::size_t>(leaf_of(root)) * n_classes];
    for (int k = 0; k < n_classes; ++k) sums[k] += value[k];
  }
  for (double& sum : sums) sum /= static_cast<double>(roots.size());
  return first_maximum(sums);
}

}  // namespace treeproof
