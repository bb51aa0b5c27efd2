#include "hitting.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace treeproof {
namespace {

constexpr int kPollInterval = 64;  // nodes
// The first branches are chosen knowing few sets, so the search begins anew when there are this many times as many,
// and some more. What was closed before closes quickly again.
constexpr std::size_t kGrowth = 2, kSome = 50;

bool meets(const Word* one, const Word* other, std::size_t n_words) {
  for (std::size_t w = 0; w < n_words; ++w)
    if (one[w] & other[w]) return true;
  return false;
}

template <typename Visit>
void for_each_bit(const Word* words, std::size_t n_words, const Visit& visit) {
  for (std::size_t w = 0; w < n_words; ++w)
    for (Word rest = words[w]; rest != 0; rest &= rest - 1)
      visit(static_cast<std::int32_t>(w * 64) + std::countr_zero(rest));
}

bool has_bit(const std::vector<Word>& bits, std::int32_t i) { return bits[i / 64] >> (i % 64) & 1; }
void set_bit(std::vector<Word>& bits, std::int32_t i) { bits[i / 64] |= Word{1} << (i % 64); }
void clear_bit(std::vector<Word>& bits, std::int32_t i) { bits[i / 64] &= ~(Word{1} << (i % 64)); }

}  // namespace

HittingSets::HittingSets(int n_features)
    : n_features_(n_features), n_words_((static_cast<std::size_t>(n_features) + 63) / 64) {}

void HittingSets::add(const std::vector<std::int32_t>& features) {
  Bits bits(n_words_, 0);
  for (const std::int32_t f : features) {
    if (f < 0 || f >= n_features_) throw std::invalid_argument("a feature must be among those of the family");
    set_bit(bits, f);
  }
  sets_.insert(sets_.end(), bits.begin(), bits.end());
  sizes_.push_back(static_cast<std::int32_t>(features.size()));
}

std::vector<std::int32_t> HittingSets::chosen() const {
  std::vector<std::int32_t> features;
  if (depth_ > 0)
    for_each_bit(stack_[depth_ - 1].chosen.data(), n_words_, [&](std::int32_t f) { features.push_back(f); });
  return features;
}

std::vector<std::int32_t> HittingSets::excluded() const {
  std::vector<std::int32_t> features;
  if (depth_ == 0) return features;
  Bits listed = stack_[depth_ - 1].chosen;
  for (std::size_t d = 0; d < depth_; ++d)
    for (std::int32_t f = 0; f < n_features_; ++f) {
      if (has_bit(stack_[d].chosen, f) || has_bit(stack_[d].allowed, f) || has_bit(listed, f)) continue;
      features.push_back(f);
      set_bit(listed, f);
    }
  return features;
}

void HittingSets::restart(int most) {
  most_ = most;
  n_at_start_ = n_sets();
  if (stack_.empty()) stack_.emplace_back();
  depth_ = 1;
  Frame& root = stack_[0];
  root.chosen.assign(n_words_, 0);
  root.allowed.assign(n_words_, 0);
  for (std::int32_t f = 0; f < n_features_; ++f) set_bit(root.allowed, f);
  root.n_chosen = 0;
  root.open.clear();
  root.known = 0;
  root.expanded = false;
}

HittingSets::Answer HittingSets::next(int most, const Poll& must_stop) {
  if (most > most_ || (depth_ > 0 && n_sets() > kGrowth * n_at_start_ + kSome)) restart(most);
  most_ = most;
  for (int count = 0; depth_ > 0; ++count) {
    if (count % kPollInterval == 0 && must_stop()) return Answer::stopped;
    Frame& frame = stack_[depth_ - 1];
    if (!frame.expanded) {
      const Fate fate = expand(frame);
      if (fate == Fate::leaf) return Answer::found;
      if (fate == Fate::closed) --depth_;
      continue;
    }
    if (frame.branches.empty()) {
      --depth_;
      continue;
    }
    const std::int32_t f = frame.branches.back();
    frame.branches.pop_back();
    clear_bit(frame.allowed, f);
    catch_up(frame);
    if (stack_.size() == depth_) stack_.emplace_back();
    const Frame& parent = stack_[depth_ - 1];  // the stack may have moved
    Frame& child = stack_[depth_++];
    child.chosen = parent.chosen;
    child.allowed = parent.allowed;
    set_bit(child.chosen, f);
    child.n_chosen = parent.n_chosen + 1;
    child.known = parent.known;
    child.expanded = false;
    child.open.clear();
    for (const std::int32_t s : parent.open)
      if (!(set(s)[f / 64] >> (f % 64) & 1U)) child.open.push_back(s);
  }
  return Answer::none;
}

// Look at the sets that were added since the frame was made.
void HittingSets::catch_up(Frame& frame) const {
  for (; frame.known < n_sets(); ++frame.known)
    if (!meets(set(static_cast<std::int32_t>(frame.known)), frame.chosen.data(), n_words_))
      frame.open.push_back(static_cast<std::int32_t>(frame.known));
}

HittingSets::Fate HittingSets::expand(Frame& frame) {
  catch_up(frame);
  for (bool again = true; again;)
    if (!narrow(frame, again)) return Fate::closed;
  if (frame.open.empty()) return Fate::leaf;

  // Branch on a smallest set, of these on the one with the features of highest degree, and try these first.
  std::int32_t chosen = -1;
  std::int64_t highest = -1;
  for (const std::int32_t i : sorted_) {
    if (size_[i] > size_[sorted_[0]]) break;
    std::int64_t total = 0;
    for_each_bit(&rest_[i * n_words_], n_words_, [&](std::int32_t f) { total += degree_[f]; });
    if (total > highest) {
      highest = total;
      chosen = i;
    }
  }
  frame.branches.clear();
  for_each_bit(&rest_[chosen * n_words_], n_words_, [&](std::int32_t f) { frame.branches.push_back(f); });
  std::stable_sort(frame.branches.begin(), frame.branches.end(),
                   [&](std::int32_t a, std::int32_t b) { return degree_[a] < degree_[b]; });
  frame.expanded = true;
  return Fate::branched;
}

// Choose what must be chosen, and exclude what is not worth choosing. False if nothing is left; `again` if it should be
// repeated, since something changed.
bool HittingSets::narrow(Frame& frame, bool& again) {
  again = false;
  const int left = most_ - frame.n_chosen;
  if (left < 0) return false;
  if (frame.open.empty()) return true;
  if (left == 0) return false;
  if (left == 1) {  // most nodes are such: it must lie in every open set
    Bits common = frame.allowed;
    for (const std::int32_t s : frame.open)
      for (std::size_t w = 0; w < n_words_; ++w) common[w] &= set(s)[w];
    if (std::all_of(common.begin(), common.end(), [](Word word) { return word == 0; })) return false;
  }
  size_.clear();
  rest_.clear();
  Bits forced(n_words_, 0);
  for (const std::int32_t s : frame.open) {
    std::int32_t size = 0;
    for (std::size_t w = 0; w < n_words_; ++w) {
      rest_.push_back(set(s)[w] & frame.allowed[w]);
      size += std::popcount(rest_.back());
    }
    if (size == 0) return false;
    size_.push_back(size);
    if (size == 1)
      for (std::size_t w = 0; w < n_words_; ++w) forced[w] |= rest_[rest_.size() - n_words_ + w];
  }
  for (std::size_t w = 0; w < n_words_; ++w) {
    frame.n_chosen += std::popcount(forced[w]);
    frame.chosen[w] |= forced[w];
    frame.allowed[w] &= ~forced[w];
    again = again || forced[w] != 0;
  }
  if (again) {
    std::erase_if(frame.open, [&](std::int32_t s) { return meets(set(s), forced.data(), n_words_); });
    return frame.n_chosen <= most_;
  }

  // Sets with fewer features first; of as many, those that were added first.
  begin_.assign(n_features_ + 2, 0);
  for (const std::int32_t size : size_) ++begin_[size + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  sorted_.resize(size_.size());
  for (std::size_t i = 0; i < size_.size(); ++i) sorted_[begin_[size_[i]]++] = static_cast<std::int32_t>(i);
  Bits taken(n_words_, 0);
  int disjoint = 0;
  for (const std::int32_t i : sorted_) {
    const Word* const rest = &rest_[i * n_words_];
    if (meets(rest, taken.data(), n_words_)) continue;
    for (std::size_t w = 0; w < n_words_; ++w) taken[w] |= rest[w];
    if (++disjoint > left) return false;
  }
  if (disjoint == left) {
    for (std::size_t w = 0; w < n_words_; ++w) {
      again = again || (frame.allowed[w] & ~taken[w]) != 0;
      frame.allowed[w] &= taken[w];
    }
  }
  if (again) return true;

  degree_.assign(n_features_, 0);
  for (std::size_t i = 0; i < frame.open.size(); ++i)
    for_each_bit(&rest_[i * n_words_], n_words_, [&](std::int32_t f) { ++degree_[f]; });
  highest_ = degree_;
  const auto last = highest_.begin() + std::min<std::ptrdiff_t>(left, n_features_);
  std::nth_element(highest_.begin(), last - 1, highest_.end(), std::greater<>());
  return std::accumulate(highest_.begin(), last, std::size_t{0}) >= frame.open.size();
}

}  // namespace treeproof
