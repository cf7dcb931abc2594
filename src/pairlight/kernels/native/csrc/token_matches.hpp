// How often each token of a text occurs in the other text of its pair.
#pragma once
#include "parallel.hpp"
#include "vector.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in token_matches.py, 8 bytes each.
struct TokenMatches {
  const int64_t *left_ids, *right_ids;  // [lefts, L], [pairs, R]
  const int64_t *left, *right;          // [lefts], [pairs] lengths
  int64_t lefts, pairs, left_words, right_words, threads;
  float *left_counts, *right_counts;  // [pairs, L], [pairs, R]; 0 for padding
};

// counts[size] = how often each of the m ids occurs among the n others, then zeros. Each lane counts one id.
inline void count_matches(const int64_t *ids, int64_t m, int64_t size, const int64_t *others, int64_t n,
                          float *counts) {
  typedef Integers<double> I;
  constexpr int L = LANES<double>;
  for (int64_t i = 0; i < size; i += L) {
    const int64_t some = size - i < L ? size - i : L, real = m - i < some ? m - i : some;
    I own = {}, count = {};
    if (real > 0) {
      memcpy(&own, ids + i, size_t(real) * sizeof(int64_t));
      for (int64_t j = 0; j < n; j++) count -= own == others[j];
    }
    for (int64_t l = 0; l < some; l++) counts[i + l] = l < real ? float(count[l]) : 0.f;
  }
}

inline void matches_of_pair(void *call_, int64_t pair) {
  const TokenMatches &call = *(const TokenMatches *)call_;
  const int64_t at = pair % call.lefts, L = call.left_words, R = call.right_words;
  const int64_t m = call.left[at], n = call.right[pair];
  const int64_t *left = call.left_ids + at * L, *right = call.right_ids + pair * R;
  count_matches(left, m, L, right, n, call.left_counts + pair * L);
  count_matches(right, n, R, left, m, call.right_counts + pair * R);
}

inline int token_matches(const TokenMatches &call) {
  pairlight::parallel(call.pairs, call.threads, matches_of_pair, (void *)&call);
  return 0;
}

}  // namespace PAIRLIGHT_WIDTH
