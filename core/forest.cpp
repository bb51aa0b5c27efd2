#include "forest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
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

// Double precision has more than twice the bits of single precision, so that rounding its sum, quotient or product
// again gives that of single precision.
double rounded(double number, bool single) { return single ? static_cast<double>(static_cast<float>(number)) : number; }

// Sums before their division, if some trees are added on their own.
template <typename Term>
std::vector<double> sums_of_members(const Sums& sums, std::size_t n_trees, const Term& term) {
  std::vector<std::pair<std::vector<double>, bool>> open{{sums.start, sums.single}};  // the innermost member last
  const auto add = [&](const double* numbers) {
    auto& [totals, single] = open.back();
    for (std::size_t k = 0; k < totals.size(); ++k) totals[k] = rounded(totals[k] + numbers[k], single);
  };
  auto first = sums.opening.begin();
  auto next = sums.members.begin();  // the first that is not closed
  for (std::size_t t = 0; t < n_trees; ++t) {
    for (; first != sums.opening.end() && static_cast<std::size_t>(sums.members[*first].first) == t; ++first)
      open.emplace_back(sums.members[*first].start, sums.members[*first].single);
    add(term(t));
    for (; next != sums.members.end() && static_cast<std::size_t>(next->last) == t + 1; ++next) {
      std::vector<double> totals = std::move(open.back().first);
      open.pop_back();
      for (double& total : totals) {
        total = rounded(total / next->divisor, next->single);
        total = rounded(total * next->weight, next->single);
      }
      add(totals.data());
    }
  }
  return std::move(open.front().first);
}

template <typename Number, typename Term>
std::vector<Number> totals_of(const Sums& sums, const std::vector<std::int32_t>& own_class, const Term& term) {
  const std::size_t n_trees = own_class.size();
  std::vector<Number> totals(sums.start.begin(), sums.start.end());
  if (!sums.members.empty()) {
    const std::vector<double> added = sums_of_members(sums, n_trees, term);
    totals.assign(added.begin(), added.end());
  } else {
    for (std::size_t t = 0; t < n_trees; ++t) {
      const double* const numbers = term(t);
      if (const std::int32_t own = own_class[t]; own >= 0) {  // adding 0 to the others changes nothing
        totals[own] += static_cast<Number>(numbers[own]);
        continue;
      }
      for (std::size_t k = 0; k < totals.size(); ++k) totals[k] += static_cast<Number>(numbers[k]);
    }
  }
  if (sums.divisor != 1)
    for (Number& total : totals) total /= static_cast<Number>(sums.divisor);
  return totals;
}

template <typename Term>
std::vector<double> as_doubles(const Sums& sums, const std::vector<std::int32_t>& own_class, const Term& term) {
  if (!sums.single) return totals_of<double>(sums, own_class, term);
  const std::vector<float> totals = totals_of<float>(sums, own_class, term);
  return {totals.begin(), totals.end()};
}

template <typename Number>
int label_of(const Sums& sums, std::vector<Number> totals) {
  if (sums.cut) {
    const auto reached = std::upper_bound(sums.cuts.begin(), sums.cuts.end(), static_cast<double>(totals[0]));
    return static_cast<int>(reached - sums.cuts.begin());
  }
  if (sums.sigmoid != 0) return sigmoid_label({totals.begin(), totals.end()}, sums.sigmoid);
  return sums.softmax ? first_of_softmax(std::move(totals)) : first_maximum(totals);
}

// Per node -1, or at a leaf the first leaf with the same values; found by hashing, in time linear in the nodes.
std::vector<std::int32_t> ids_of_values(const Forest& forest) {
  const std::size_t n_sums = forest.sums.start.size();
  std::vector<std::int32_t> ids(forest.nodes.size(), -1);
  std::vector<std::int32_t> seen(std::bit_ceil(2 * forest.nodes.size() + 1),
                                 -1);  // leaves, by the hash of their values
  for (std::size_t n = 0; n < ids.size(); ++n) {
    if (forest.nodes[n].feature >= 0) continue;
    const double* const numbers = &forest.values[n * n_sums];
    std::uint64_t hash = 0;
    for (std::size_t k = 0; k < n_sums; ++k) {
      hash ^= std::bit_cast<std::uint64_t>(numbers[k] + 0.0);  // -0.0 + 0.0 is 0.0: these are equal
      hash *= 0x9E3779B97F4A7C15U;
      hash ^= hash >> 32;
    }
    std::size_t place = hash & (seen.size() - 1);
    while (seen[place] >= 0 &&
           !std::equal(numbers, numbers + n_sums, &forest.values[static_cast<std::size_t>(seen[place]) * n_sums]))
      place = (place + 1) & (seen.size() - 1);
    if (seen[place] < 0) seen[place] = static_cast<std::int32_t>(n);
    ids[n] = seen[place];
  }
  return ids;
}

// Per tree, what its leaves have in common: in their scores, and in the values that a finer scale takes.
void compare_leaves(Forest& forest) {
  const auto n_classes = static_cast<std::size_t>(forest.n_classes);
  const std::size_t n_trees = forest.roots.size();
  const bool valued = (forest.vote == Vote::mean || forest.vote == Vote::sum) &&
                      forest.sums.start.size() == n_classes;  // values are given per class
  std::vector<std::int32_t> tree(forest.nodes.size(), 0), first(n_trees, -1);
  std::vector<std::uint8_t> gives(n_trees * n_classes, 0);  // per tree and class: a leaf gives something to the class
  forest.varies.assign(n_trees * n_classes, 0);
  forest.own_class.assign(n_trees, -1);
  for (std::size_t t = 0; t < n_trees; ++t) tree[forest.roots[t]] = static_cast<std::int32_t>(t);
  for (std::size_t n = 0; n < forest.nodes.size(); ++n) {  // children lie behind their parents
    const auto t = static_cast<std::size_t>(tree[n]);
    const Node& node = forest.nodes[n];
    if (node.feature >= 0) {
      tree[node.left] = tree[node.right] = tree[n];
      continue;
    }
    const auto leaf = static_cast<std::int32_t>(n);
    if (first[t] < 0) first[t] = leaf;
    bool unlike = forest.is_exact(first[t]) != forest.is_exact(leaf);
    if (forest.finer) unlike = unlike || forest.values[static_cast<std::size_t>(first[t])] != forest.values[n];
    const std::int64_t *const one = forest.scores_of(first[t]), *const other = forest.scores_of(leaf);
    for (std::size_t k = 0; k < n_classes; ++k) {
      forest.varies[t * n_classes + k] |= unlike || one[k] != other[k];
      gives[t * n_classes + k] |= other[k] != 0 || (valued && forest.values[n * n_classes + k] != 0);
    }
  }
  for (std::size_t t = 0; valued && t < n_trees; ++t) {
    const auto begin = gives.begin() + static_cast<std::ptrdiff_t>(t * n_classes), end = begin + forest.n_classes;
    if (std::count(begin, end, 1) == 1)
      forest.own_class[t] = static_cast<std::int32_t>(std::find(begin, end, 1) - begin);
  }
}

// Number the splits and the gates of a forest, in time linear in both.
void number_gates(Forest& forest) {
  // An ordered feature splits after one of its cells, a gapped one so in two ways, any other by one of the left sets.
  forest.split_begin.assign(1, 0);
  for (int f = 0; f < forest.n_features; ++f) {
    const auto cells = static_cast<std::size_t>(forest.n_cells[f]);
    const std::size_t n = forest.ordered[f] ? cells : forest.gapped[f] ? 2 * cells : forest.set_begin.size();
    forest.split_begin.push_back(forest.split_begin.back() + n);
  }
  const std::size_t n_nodes = forest.nodes.size(), n_trees = forest.roots.size();
  std::vector<std::int32_t> tree(n_nodes, -1);
  for (std::size_t t = 0; t < n_trees; ++t) tree[forest.roots[t]] = static_cast<std::int32_t>(t);
  std::vector<std::int32_t> begin(forest.split_begin.back() + 1, 0);
  const auto splits = [&](std::size_t n) { return forest.nodes[n].cut >= 0; };
  for (std::size_t n = 0; n < n_nodes; ++n) {  // children lie behind their parents
    if (forest.nodes[n].feature < 0) continue;
    tree[forest.nodes[n].left] = tree[forest.nodes[n].right] = tree[n];
    if (splits(n)) ++begin[forest.split(static_cast<std::int32_t>(n)) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::int32_t> by_split(static_cast<std::size_t>(begin.back()));
  for (std::size_t n = 0; n < n_nodes; ++n)
    if (splits(n)) by_split[begin[forest.split(static_cast<std::int32_t>(n))]++] = static_cast<std::int32_t>(n);
  const auto for_each_gate = [&](const auto& visit) {
    std::vector<std::int32_t> last(n_trees, -1);  // per tree: the last node met
    for (const std::int32_t n : by_split) {
      std::int32_t& before = last[tree[n]];
      visit(n, before < 0 || forest.split(before) != forest.split(n));
      before = n;
    }
  };
  forest.gate_begin.assign(n_trees + 1, 0);
  for_each_gate([&](std::int32_t n, bool is_new) { forest.gate_begin[tree[n] + 1] += is_new; });
  std::partial_sum(forest.gate_begin.begin(), forest.gate_begin.end(), forest.gate_begin.begin());
  forest.gate.assign(n_nodes, -1);
  forest.gate_node.resize(static_cast<std::size_t>(forest.gate_begin.back()));
  std::vector<std::int32_t> next(forest.gate_begin.begin(), forest.gate_begin.end() - 1);
  for_each_gate([&](std::int32_t n, bool is_new) {
    if (is_new) forest.gate_node[next[tree[n]]++] = n;
    forest.gate[n] = next[tree[n]] - 1;
  });
}

}  // namespace

int softmax_label(const std::vector<float>& sums) { return first_of_softmax(sums); }
int softmax_label(const std::vector<double>& sums) { return first_of_softmax(sums); }

int sigmoid_label(std::vector<double> sums, double steepness) {
  for (double& sum : sums) sum = 1 / (1 + std::exp(-steepness * sum));
  return first_maximum(sums);
}

void Forest::derive() {
  if (theta.empty())
    for (int k = 0; k < n_classes; ++k)
      for (int c = 0; c < n_classes; ++c) theta.push_back(k < c ? 0 : 1);
  if (vote != Vote::majority && sums.start.empty()) sums.start.assign(static_cast<std::size_t>(n_classes), 0.0);
  for (std::size_t m = sums.members.size(); m > 0; --m) sums.opening.push_back(m - 1);
  std::stable_sort(sums.opening.begin(), sums.opening.end(),
                   [&](std::size_t a, std::size_t b) { return sums.members[a].first < sums.members[b].first; });
  if (vote == Vote::mean) sums.divisor = static_cast<double>(roots.size());
  scale = Scale(*this);
  finer = Scale::finer(*this);
  gapped.resize(n_features, 0);
  words_begin.assign(1, 0);
  for (int f = 0; f < n_features; ++f) {
    const std::size_t words = ordered[f] || gapped[f] ? 0 : (static_cast<std::size_t>(n_cells[f]) + 63) / 64;
    words_begin.push_back(words_begin.back() + words);
  }
  if (vote == Vote::majority && n_classes <= 64) {
    leaf_class.resize(nodes.size());
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      const std::int64_t* score = scores_of(static_cast<std::int32_t>(n));
      leaf_class[n] = static_cast<std::uint8_t>(std::max_element(score, score + n_classes) - score);
    }
  }
  compare_leaves(*this);
  if (band > 0) value_id = ids_of_values(*this);
  number_gates(*this);
  std::vector<int> level(nodes.size(), 1);
  for (std::size_t n = 0; n < nodes.size(); ++n) {  // children lie behind their parents
    depth = std::max(depth, level[n]);
    if (nodes[n].feature >= 0) level[nodes[n].left] = level[nodes[n].right] = level[n] + 1;
  }
}

std::vector<std::int32_t> Forest::leaves(const std::vector<Cell>& point) const {
  std::vector<std::int32_t> reached(roots.size());
  for (std::size_t t = 0; t < roots.size(); ++t) reached[t] = leaf(roots[t], point);
  return reached;
}

std::vector<std::int64_t> Forest::total_scores_of(const std::vector<std::int32_t>& leaves) const {
  std::vector<std::int64_t> totals(n_classes, 0);
  if (!leaf_class.empty()) {
    for (const std::int32_t leaf : leaves) ++totals[leaf_class[leaf]];
    return totals;
  }
  for (std::size_t t = 0; t < leaves.size(); ++t) {
    const std::int64_t* score = scores_of(leaves[t]);
    if (own_class[t] >= 0) {
      totals[own_class[t]] += score[own_class[t]];
    } else {
      for (int k = 0; k < n_classes; ++k) totals[k] += score[k];
    }
  }
  return totals;
}

int Forest::label_of_leaves(const std::vector<std::int32_t>& leaves) const {
  if (vote == Vote::majority) return first_maximum(total_scores_of(leaves));
  if (vote == Vote::exact) {
    const std::vector<std::int64_t> totals = total_scores_of(leaves);
    for (int k = 1; k < n_classes; ++k)
      if (totals[0] - totals[static_cast<std::size_t>(k)] < least(0, k)) return k;
    return 0;
  }
  const auto term = [&](std::size_t t) { return &values[static_cast<std::size_t>(leaves[t]) * sums.start.size()]; };
  return sums.single ? label_of(sums, totals_of<float>(sums, own_class, term))
                     : label_of(sums, totals_of<double>(sums, own_class, term));
}

std::vector<double> Forest::float_sums(const std::vector<Cell>& point) const {
  const auto term = [&](std::size_t t) {
    return &values[static_cast<std::size_t>(leaf(roots[t], point)) * sums.start.size()];
  };
  return as_doubles(sums, own_class, term);
}

std::vector<double> Forest::float_sums_of(const std::vector<double>& terms) const {
  return as_doubles(sums, own_class, [&](std::size_t t) { return &terms[t * sums.start.size()]; });
}

int Forest::label_of_sums(const std::vector<double>& totals) const {
  return sums.single ? label_of(sums, std::vector<float>(totals.begin(), totals.end())) : label_of(sums, totals);
}

}  // namespace treeproof
