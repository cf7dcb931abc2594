// The k largest cells of each channel of grids of different sizes, largest first, equal ones ordered by position.
#pragma once
#include "parallel.hpp"
#include "vector.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in kmax.py, 8 bytes each.
template <class T>
struct KMax {
  const T *s;  // [B, C, L, R], the columns contiguous
  int64_t s_pair, s_channel, s_row;
  const int64_t *left, *right;
  int64_t pairs, channels, columns, k, threads;
  T *values;           // [B, C, k]
  int64_t *positions;  // [B, C, k]
};

template <class I>
INLINE bool any(I mask) {
#if PAIRLIGHT_BYTES == 64
  return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif PAIRLIGHT_BYTES == 32
  return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
  uint64_t half[2];
  memcpy(half, &mask, sizeof half);
  return (half[0] | half[1]) != 0;
#endif
}

// The largest cells so far, sorted. Few cells exceed the k-th, so insertion sort is fast enough.
template <class T>
struct Best {
  T *values;
  int64_t *positions;
  const int64_t k;
  int64_t held = 0;

  // NaN counts as infinity, so that it is propagated to the result.
  static T rank(T x) { return x == x ? x : T(INFINITY); }

  bool full() const { return held == k; }

  void offer(T value, int64_t position) {
    if (full() && !(rank(value) > rank(values[k - 1]))) return;
    int64_t at = full() ? k - 1 : held++;
    for (; at > 0 && rank(values[at - 1]) < rank(value); at--) {
      values[at] = values[at - 1];
      positions[at] = positions[at - 1];
    }
    values[at] = value;
    positions[at] = position;
  }

  // Offers n contiguous cells, the first of which has this position.
  void row(const T *cells, int n, int64_t position) {
    constexpr int L = LANES<T>;
    int j = 0;
    for (; j + L <= n; j += L) {
      Vector<T> x;
      memcpy(&x, cells + j, BYTES);
      if (full() && !any(~(x <= all(values[k - 1])))) continue;
      for (int l = 0; l < L; l++) offer(x[l], position + j + l);
    }
    for (; j < n; j++) offer(cells[j], position + j);
  }

  // The same, but only cells that reach a bound which at least k cells of the grid reach.
  void row(const T *cells, int n, int64_t position, T bound) {
    constexpr int L = LANES<T>;
    for (int j = 0; j < n; j += L) {
      Vector<T> x = {};
      memcpy(&x, cells + j, j + L <= n ? BYTES : (n - j) * sizeof(T));
      if (!any(~(x < all(bound)))) continue;
      for (int l = 0; l < L && j + l < n; l++)
        if (!(cells[j + l] < bound)) offer(cells[j + l], position + j + l);
    }
  }

  // Fills the remaining entries if there are fewer than k cells.
  void close() {
    for (int64_t q = held; q < k; q++) values[q] = 0, positions[q] = -1;
  }
};

template <class T>
void kmax_of_pair(void *call_, int64_t pair) {
  const KMax<T> &call = *(const KMax<T> *)call_;
  for (int64_t c = 0; c < call.channels; c++) {
    const int64_t to = (pair * call.channels + c) * call.k;
    Best<T> best{call.values + to, call.positions + to, call.k};
    const T *s = call.s + pair * call.s_pair + c * call.s_channel;
    for (int64_t i = 0; i < call.left[pair]; i++)
      best.row(s + i * call.s_row, int(call.right[pair]), i * call.columns);
    best.close();
  }
}

template <class T>
int kmax(const KMax<T> &call) {
  pairlight::parallel(call.pairs, call.threads, kmax_of_pair<T>, (void *)&call);
  return 0;
}

}  // namespace PAIRLIGHT_WIDTH
