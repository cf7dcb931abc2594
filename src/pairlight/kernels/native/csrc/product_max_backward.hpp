// The gradient of the largest cells of the product of two texts. Each cell that was found is a product of two words.
#pragma once
#include "product_max.hpp"

namespace PAIRLIGHT_WIDTH {

template <class T>
class ProductMaxBackward {
 public:
  static int run(const ProductMax<T> &call) {
    // All pairs of a left text are one task, which adds their gradients in the same order on any number of threads.
    pairlight::parallel(call.lefts, call.threads, of_left, (void *)&call);
    return 0;
  }

 private:
  static void of_left(void *call_, int64_t left) {
    const ProductMax<T> &call = *(const ProductMax<T> *)call_;
    const int64_t L = call.left_words, R = call.right_words, k = call.k;
    if (call.d_u) memset(call.d_u + left * L * call.dim, 0, size_t(L * call.dim) * sizeof(T));
    for (int64_t pair = left; pair < call.pairs; pair += call.lefts) {
      if (call.d_v) memset(call.d_v + pair * R * call.dim, 0, size_t(R * call.dim) * sizeof(T));
      if (call.d_rows)
        for (int64_t i = 0, at = pair * L; i < L; i++, at++)
          cell(call, left, pair, i, call.row_positions[at], call.d_rows[at]);
      if (call.d_columns)
        for (int64_t j = 0, at = pair * R; j < R; j++, at++)
          cell(call, left, pair, call.column_positions[at], j, call.d_columns[at]);
      if (call.d_values)
        for (int64_t at = pair * k; at < (pair + 1) * k && call.positions[at] >= 0; at++)
          cell(call, left, pair, call.positions[at] / R, call.positions[at] % R, call.d_values[at]);
    }
  }

  // Adds the gradient of the product of words i and j; there is no such cell if one of them is -1.
  static void cell(const ProductMax<T> &call, int64_t left, int64_t pair, int64_t i, int64_t j, T gradient) {
    if (i < 0 || j < 0) return;
    const T *u = call.u + left * call.u_text + i * call.u_word, *v = call.v + pair * call.v_text + j * call.v_word;
    if (call.d_u) add(v, gradient, int(call.dim), call.d_u + (left * call.left_words + i) * call.dim);
    if (call.d_v) add(u, gradient, int(call.dim), call.d_v + (pair * call.right_words + j) * call.dim);
  }

  static INLINE void add(const T *__restrict from, T factor, int n, T *__restrict to) {
    for (int d = 0; d < n; d++) to[d] += factor * from[d];
  }
};

}  // namespace PAIRLIGHT_WIDTH
