#include "forest.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace treeproof {
namespace {

template <typename Number>
int first_maximum(const std::vector<Number>& numbers) {
  return static_cast<int>(std::max_element(numbers.begin(), numbers.end()) - numbers.begin());
}

// Both libraries subtract the largest sum, add the exponentials in double, and divide.
template <typename Number>
int first_of_softmax(std::vector<Number> numbers) {
  const Number largest = *std::max_element(numbers.begin(), numbers.end());
  double total = 0;
  for (Number& number : numbers) {
    number = std::exp(number - largest);
    total += static_cast<double>(number);
  }
  for (Number& number : numbers) number /= static_cast<Number>(total);
  return first_maximum(numbers);
}

template <typename Number, typename Term>
int label_of(const Sums& sums, std::size_t n_trees, const Term& term) {
  std::vector<Number> totals(sums.start.begin(), sums.start.end());
  for (std::size_t t = 0; t < n_trees; ++t) {
    const double* const numbers = term(t);
    for (std::size_t k = 0; k < totals.size(); ++k) totals[k] += static_cast<Number>(numbers[k]);
  }
  if (sums.divisor != 1)
    for (Number& total : totals) total /= static_cast<Number>(sums.divisor);
  if (sums.cut) {
    const auto reached = std::upper_bound(sums.cuts.begin(), sums.cuts.end(), static_cast<double>(totals[0]));
    return static_cast<int>(reached - sums.cuts.begin());
  }
  return sums.softmax ? first_of_softmax(std::move(totals)) : first_maximum(totals);
}

}  // namespace

int softmax_label(const std::vector<float>& sums) { return first_of_softmax(sums); }
int softmax_label(const std::vector<double>& sums) { return first_of_softmax(sums); }

void Forest::derive() {
  if (theta.empty())
    for (int k = 0; k < n_classes; ++k)
      for (int c = 0; c < n_classes; ++c) theta.push_back(k < c ? 0 : 1);
  if (vote != Vote::majority && sums.start.empty()) sums.start.assign(static_cast<std::size_t>(n_classes), 0.0);
  if (vote == Vote::mean) sums.divisor = static_cast<double>(roots.size());
  nodes.resize(feature.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) nodes[n] = {feature[n], cut[n], left[n], right[n]};
  scale = Scale(*this);
  gapped.resize(n_features, 0);
  words_begin.assign(1, 0);
  for (int f = 0; f < n_features; ++f) {
    const std::size_t words = ordered[f] || gapped[f] ? 0 : (static_cast<std::size_t>(n_cells[f]) + 63) / 64;
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
      const double* value = &values[n * sums.start.size()];
      value_id[n] =
          ids.emplace(std::vector<double>(value, value + sums.start.size()), static_cast<std::int32_t>(ids.size()))
              .first->second;
    }
  }
  std::vector<int> level(feature.size(), 1);
  for (std::size_t n = 0; n < feature.size(); ++n) {  // children lie behind their parents
    depth = std::max(depth, level[n]);
    if (feature[n] >= 0) level[left[n]] = level[right[n]] = level[n] + 1;
  }
}

std::vector<std::int64_t> Forest::total_scores(const std::vector<Cell>& point) const {
  std::vector<std::int64_t> totals(n_classes, 0);
  if (!leaf_class.empty()) {
    for (const std::int32_t root : roots) ++totals[leaf_class[leaf(root, point)]];
    return totals;
  }
  for (const std::int32_t root : roots) {
    const std::int64_t* score = scores_of(leaf(root, point));
    for (int k = 0; k < n_classes; ++k) totals[k] += score[k];
  }
  return totals;
}

int Forest::label(const std::vector<Cell>& point) const {
  if (vote == Vote::majority) return first_maximum(total_scores(point));
  const auto term = [&](std::size_t t) {
    return &values[static_cast<std::size_t>(leaf(roots[t], point)) * sums.start.size()];
  };
  return sums.single ? label_of<float>(sums, roots.size(), term) : label_of<double>(sums, roots.size(), term);
}

}  // namespace treeproof
