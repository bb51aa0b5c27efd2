#include "forest.hpp"

#include <algorithm>
#include <map>

namespace treeproof {

void Forest::derive() {
  nodes.resize(feature.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) nodes[n] = {feature[n], cut[n], left[n], right[n]};
  scale = Scale(*this);
  words_begin.assign(1, 0);
  for (int f = 0; f < n_features; ++f) {
    const std::size_t words = ordered[f] ? 0 : (static_cast<std::size_t>(n_cells[f]) + 63) / 64;
    words_begin.push_back(words_begin.back() + words);
  }
  if (vote == Vote::majority && n_classes <= 64) {
    leaf_class.resize(feature.size());
    for (std::size_t n = 0; n < feature.size(); ++n) {
      const std::int64_t* score = scores_of(static_cast<std::int32_t>(n));
      leaf_class[n] = static_cast<std::uint8_t>(std::max_element(score, score + n_classes) - score);
    }
  }
  if (band > 0) {
    std::map<std::vector<double>, std::int32_t> ids;
    value_id.resize(feature.size(), -1);
    for (std::size_t n = 0; n < feature.size(); ++n) {
      if (feature[n] >= 0) continue;
      const double* value = &values[n * n_classes];
      value_id[n] = ids.emplace(std::vector<double>(value, value + n_classes), static_cast<std::int32_t>(ids.size())).first->second;
    }
  }
  std::vector<int> level(feature.size(), 1);
  for (std::size_t n = 0; n < feature.size(); ++n) {  // children lie behind their parents
    depth = std::max(depth, level[n]);
    if (feature[n] >= 0) level[left[n]] = level[right[n]] = level[n] + 1;
  }
}

std::vector<std::int64_t> Forest::sums(const std::vector<Cell>& point) const {
  std::vector<std::int64_t> sums(n_classes, 0);
  if (!leaf_class.empty()) {
    for (const std::int32_t root : roots) ++sums[leaf_class[leaf(root, point)]];
    return sums;
  }
  for (const std::int32_t root : roots) {
    const std::int64_t* score = scores_of(leaf(root, point));
    for (int k = 0; k < n_classes; ++k) sums[k] += score[k];
  }
  return sums;
}

int Forest::label(const std::vector<Cell>& point) const {
  const auto first_maximum = [](const auto& sums) {
    return static_cast<int>(std::max_element(sums.begin(), sums.end()) - sums.begin());
  };
  if (vote == Vote::majority) return first_maximum(sums(point));
  std::vector<double> totals(n_classes, 0.0);
  for (const std::int32_t root : roots) {
    const double* value = &values[static_cast<std::size_t>(leaf(root, point)) * n_classes];
    for (int k = 0; k < n_classes; ++k) totals[k] += value[k];
  }
  for (double& total : totals) total /= static_cast<double>(roots.size());
  return first_maximum(totals);
}

}  // namespace treeproof
