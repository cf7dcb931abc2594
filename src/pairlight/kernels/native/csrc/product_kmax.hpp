// The k largest cells of the product of two texts, computed in stripes of rows, so that the product is never stored.
#pragma once
#include "kmax.hpp"
#include "tile.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in product_kmax.py, 8 bytes each.
template <class T>
struct ProductKMax {
  const T *u;  // [lefts, L, C, D], the last axis contiguous
  int64_t u_text, u_word, u_channel;
  const T *v;  // [pairs, R, C, D]; v_channel is 0 if all channels share it
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
    ProductKMaxRun self{call, 0, 0, 0};
    for (int64_t pair = 0; pair < call.pairs; pair++) self.wide = greatest(self.wide, int(call.right[pair]));
    for (int64_t left = 0; left < call.lefts; left++) self.high = greatest(self.high, int(call.left[left]));
    self.wide = padded(self.wide, L) / L, self.high = padded(self.high, L) / L;
    pairlight::parallel((call.pairs + TOGETHER - 1) / TOGETHER, call.threads, some, &self);
    return self.failed;
  }

  const ProductKMax<T> &call;
  int wide, high;  // vectors needed for the longest right text and the longest left text, one word in each lane
  int failed;

 private:
  typedef Vector<T> V;
  static constexpr int L = LANES<T>, TOGETHER = 16;  // pairs of one task, which share its buffers

  static void some(void *self_, int64_t task) {
    ProductKMaxRun &self = *(ProductKMaxRun *)self_;
    const int64_t first = task * TOGETHER, end = first + TOGETHER;
    if (!(self.call.lefts == 1 ? self.facing_one(first, end) : self.facing_each(first, end)))
      __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
  }

  // Each pair has its own left text: the words of the right text are in lanes, multiplied by stripes of left words.
  bool facing_each(int64_t first, int64_t end) const {
    Buffer<V> words(wide * call.dim), stripe(wide * TALL);
    if (!words || !stripe) return false;
    for (int64_t pair = first; pair < end && pair < call.pairs; pair++)
      for (int64_t c = 0; c < call.channels; c++) {
        const int64_t left = pair % call.lefts;
        const int m = int(call.left[left]), n = int(call.right[pair]), vectors = padded(n, L) / L;
        if (c == 0 || call.v_channel) in_lanes(right(pair, c), call.v_word, n, int(call.dim), (V *)words);
        Best<T> best = found(pair, c);
        for (int i = 0; i < m; i += TALL) {
          const T *rows[TALL];
          for (int a = 0; a < TALL; a++)  // after the last row, it is computed again and ignored
            rows[a] = call.u + left * call.u_text + least(i + a, m - 1) * call.u_word + c * call.u_channel;
          for (int w = 0; w < vectors; w += WIDE) tiles(rows, words, vectors, w, stripe);
          for (int a = 0; a < TALL && i + a < m; a++) look(best, left, i + a, c, n, stripe + a * vectors);
        }
        best.close();
      }
    return true;
  }

  // One left text for all pairs: its words are put into lanes once, and the right texts are read in their own layout.
  bool facing_one(int64_t first, int64_t end) const {
    const int m = int(call.left[0]);
    const int64_t of_channel = high * call.dim;
    Buffer<V> words(of_channel * call.channels), grid(int64_t(high) * L * wide);
    if (!words || !grid) return false;
    for (int64_t c = 0; c < call.channels; c++)
      in_lanes(call.u + c * call.u_channel, call.u_word, m, int(call.dim), words + c * of_channel);
    for (int64_t pair = first; pair < end && pair < call.pairs; pair++)
      for (int64_t c = 0; c < call.channels; c++) {
        const int n = int(call.right[pair]), vectors = padded(n, L) / L;
        const T *v = right(pair, c);
        for (int j = 0; j < n; j += L)
          for (int w = 0; w < high; w++) {
            V cells[L];
            across(v, j, n, words + c * of_channel + w, cells);
            transpose<T>(cells);
            for (int a = 0; a < L; a++) grid[(w * L + a) * vectors + j / L] = cells[a];
          }
        Best<T> best = found(pair, c);
        for (int i = 0; i < m; i++) look(best, 0, i, c, n, grid + i * vectors);
        best.close();
      }
    return true;
  }

  // The products of L words of a right text, starting with word j, and a vector of left words.
  void across(const T *v, int j, int n, const V *words, V *cells) const {
    const T *rows[L];
    for (int a = 0; a < L; a++) rows[a] = v + least(j + a, n - 1) * call.v_word;
    V sums[L] = {};
    for (int d = 0; d < call.dim; d++, words += high) {
      const V value = *words;
#pragma GCC unroll 16
      for (int a = 0; a < L; a++) sums[a] += all(rows[a][d]) * value;
    }
#pragma GCC unroll 16
    for (int a = 0; a < L; a++) cells[a] = sums[a];
  }

  const T *right(int64_t pair, int64_t c) const { return call.v + pair * call.v_text + c * call.v_channel; }

  Best<T> found(int64_t pair, int64_t c) const {
    const int64_t to = (pair * call.channels + c) * call.k;
    return {call.values + to, call.positions + to, call.k};
  }

  void look(Best<T> &best, int64_t left, int i, int64_t c, int n, V *row) const {
    if (call.offset || call.relu) finish(left, i, c, padded(n, L) / L, row);
    best.row((const T *)row, n, i * call.columns);
  }

  void tiles(const T *const *rows, const V *words, int wide, int w, V *stripe) const {
    switch (least(WIDE, wide - w)) {
      case 1: return tile<T, TALL, 1>(rows, call.dim, words + w, wide, stripe + w);
      case 2: return tile<T, TALL, 2>(rows, call.dim, words + w, wide, stripe + w);
      case 3: return tile<T, TALL, 3>(rows, call.dim, words + w, wide, stripe + w);
      case 4: return tile<T, TALL, 4>(rows, call.dim, words + w, wide, stripe + w);
      default: return tile<T, TALL, WIDE>(rows, call.dim, words + w, wide, stripe + w);
    }
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
