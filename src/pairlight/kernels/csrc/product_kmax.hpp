// The k largest cells of a grid that is a product of two texts: a stripe of rows at a time, the grid is never written.
#pragma once
#include "kmax.hpp"
#include "tile.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in product_kmax.py, each of 8 bytes.
template <class T>
struct ProductKMax {
  const T *u;  // [lefts, L, C, D], the numbers of a vector adjacent
  int64_t u_text, u_word, u_channel;
  const T *v;  // [pairs, R, C, D]; v_channel is 0 where all channels share it
  int64_t v_text, v_word, v_channel;
  const T *offset;  // [lefts, L, C], or null
  int64_t offset_text, offset_word, offset_channel;
  const int64_t *left, *right;  // [lefts], [pairs] lengths
  int64_t lefts, pairs, channels, dim, columns, k, relu, threads;
  T *values;           // [pairs, C, k]
  int64_t *positions;  // [pairs, C, k]
};

template <class T>
class ProductKMaxRun {
 public:
  static int run(const ProductKMax<T> &call) {
    int longest = 0;
    for (int64_t pair = 0; pair < call.pairs; pair++) longest = greatest(longest, int(call.right[pair]));
    ProductKMaxRun self{call, padded(longest, L) / L, 0};
    pairlight::parallel((call.pairs + TOGETHER - 1) / TOGETHER, call.threads, some, &self);
    return self.failed;
  }

  const ProductKMax<T> &call;
  int room;  // vectors that hold the longest right text, one word in each lane
  int failed;

 private:
  typedef Vector<T> V;
  static constexpr int L = LANES<T>, TOGETHER = 16;  // pairs that share their memory

  static void some(void *self_, int64_t task) {
    ProductKMaxRun &self = *(ProductKMaxRun *)self_;
    const int64_t first = task * TOGETHER, end = first + TOGETHER;
    Buffer<V> words(self.room * self.call.dim), stripe(self.room * TALL);
    if (!words || !stripe) {
      __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
      return;
    }
    for (int64_t pair = first; pair < end && pair < self.call.pairs; pair++) self.pair(pair, words, stripe);
  }

  void pair(int64_t pair, V *words, V *stripe) const {
    const int64_t left = pair % call.lefts;
    const int m = int(call.left[left]), n = int(call.right[pair]), wide = padded(n, L) / L;
    for (int64_t c = 0; c < call.channels; c++) {
      if (c == 0 || call.v_channel) read(call.v + pair * call.v_text + c * call.v_channel, n, words);
      const int64_t to = (pair * call.channels + c) * call.k;
      Best<T> best{call.values + to, call.positions + to, call.k};
      for (int i = 0; i < m; i += TALL) {
        const T *rows[TALL];
        for (int a = 0; a < TALL; a++)  // rows beyond the last are computed again and not looked at
          rows[a] = call.u + left * call.u_text + least(i + a, m - 1) * call.u_word + c * call.u_channel;
        for (int w = 0; w < wide; w += WIDE) tiles(rows, words, wide, w, stripe);
        for (int a = 0; a < TALL && i + a < m; a++) {
          if (call.offset || call.relu) finish(left, i + a, c, wide, stripe + a * wide);
          best.row((const T *)(stripe + a * wide), n, (i + a) * call.columns);
        }
      }
      best.close();
    }
  }

  // The words of a right text, one in each lane: words[d, w].
  void read(const T *v, int n, V *words) const {
    const int D = int(call.dim), wide = padded(n, L) / L;
    for (int w = 0; w < wide; w++) {
      const T *row[L];
      int count[L];
      for (int l = 0; l < L; l++) {
        count[l] = w * L + l < n ? D : 0;
        row[l] = count[l] ? v + (w * L + l) * call.v_word : v;
      }
      gather<T>(row, count, D, 1, words + w, wide);
    }
  }

  void tiles(const T *const *rows, const V *words, int wide, int w, V *stripe) const {
    switch (least(WIDE, wide - w)) {
      case 1: return tile<1>(rows, words + w, wide, stripe + w);
      case 2: return tile<2>(rows, words + w, wide, stripe + w);
      case 3: return tile<3>(rows, words + w, wide, stripe + w);
      case 4: return tile<4>(rows, words + w, wide, stripe + w);
      default: return tile<WIDE>(rows, words + w, wide, stripe + w);
    }
  }

  template <int W>
  void tile(const T *const *rows, const V *words, int wide, V *out) const {
    V sums[TALL][W] = {};
    for (int d = 0; d < call.dim; d++, words += wide) {
      V column[W];
#pragma GCC unroll 8
      for (int w = 0; w < W; w++) column[w] = words[w];
#pragma GCC unroll 8
      for (int a = 0; a < TALL; a++) {
        const V value = all(rows[a][d]);
#pragma GCC unroll 8
        for (int w = 0; w < W; w++) sums[a][w] += value * column[w];
      }
    }
#pragma GCC unroll 8
    for (int a = 0; a < TALL; a++)
#pragma GCC unroll 8
      for (int w = 0; w < W; w++) out[a * wide + w] = sums[a][w];
  }

  void finish(int64_t left, int i, int64_t c, int wide, V *row) const {
    const T *at = call.offset + left * call.offset_text + i * call.offset_word + c * call.offset_channel;
    const V offset = all(call.offset ? *at : T(0));
    for (int w = 0; w < wide; w++) {
      row[w] += offset;
      if (call.relu) row[w] = larger(V{}, row[w]);
    }
  }
};

}  // namespace PAIRLIGHT_WIDTH
