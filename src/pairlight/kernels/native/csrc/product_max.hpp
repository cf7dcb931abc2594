// The largest cell of every row and every column of the product of two texts, and its k largest cells. The product of
// one pair at a time is stored, never that of a batch.
#pragma once
#include "kmax.hpp"
#include "tile.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in product_max.py, 8 bytes each.
template <class T>
struct ProductMax {
  const T *u;  // [lefts, L, D], the last axis contiguous
  int64_t u_text, u_word;
  const T *v;  // [pairs, R, D], the last axis contiguous
  int64_t v_text, v_word;
  const int64_t *left, *right;  // [lefts], [pairs] lengths
  int64_t lefts, pairs, left_words, right_words, dim, k, threads;
  T *rows;                    // [pairs, L]; 0 for padding
  int64_t *row_positions;     // [pairs, L] the column of each; -1 for padding
  T *columns;                 // [pairs, R]
  int64_t *column_positions;  // [pairs, R] the row of each
  T *values;                  // [pairs, k]
  int64_t *positions;         // [pairs, k]
  const T *d_rows, *d_columns, *d_values;  // the gradients of these three; null if it is zero
  T *d_u, *d_v;                            // [lefts, L, D], [pairs, R, D], contiguous; null if not needed
};

template <class T>
class ProductMaxForward {
 public:
  static int run(const ProductMax<T> &call) {
    if (!call.lefts) return 0;
    ProductMaxForward self{call, int(call.pairs / call.lefts), 0, 0, 0};
    for (int64_t pair = 0; pair < call.pairs; pair++) self.wide = greatest(self.wide, int(call.right[pair]));
    for (int64_t left = 0; left < call.lefts; left++) self.high = greatest(self.high, int(call.left[left]));
    self.wide = padded(self.wide, L) / L, self.high = padded(self.high, L) / L;
    pairlight::parallel((self.groups() + self.together() - 1) / self.together(), call.threads, some, &self);
    return self.failed;
  }

  const ProductMax<T> &call;
  int times;       // right texts of each left text
  int wide, high;  // vectors needed for the longest right text and the longest left text, one word in each lane
  int failed;

 private:
  typedef Vector<T> V;
  typedef Integers<T> I;
  static constexpr int L = LANES<T>;
  static constexpr int TOGETHER = 16;  // pairs of one task, which share its buffers
  static constexpr int MOST = 8;       // rows of the highest tile

  // A group is one left text with up to TOGETHER right texts. A task has several of them if they are small.
  int64_t parts() const { return (times + TOGETHER - 1) / TOGETHER; }
  int64_t groups() const { return call.lefts * parts(); }
  int64_t together() const { return times && times < TOGETHER ? TOGETHER / times : 1; }

  static void some(void *self_, int64_t task) {
    ProductMaxForward &self = *(ProductMaxForward *)self_;
    const int64_t first = task * self.together(), end = first + self.together();
    if (!self.several(first, end)) __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
  }

  bool several(int64_t first, int64_t end) const {
    Buffer<V> words(high * call.dim), turned(int64_t(wide * L + MOST) * high), grid(int64_t(high) * L * wide);
    if (!words || !turned || !grid) return false;
    for (int64_t group = first; group < end && group < groups(); group++) {
      const int64_t left = group / parts(), start = group % parts() * TOGETHER;
      const int m = int(call.left[left]);
      if (left + 1 < call.lefts) prefetch(call.u + (left + 1) * call.u_text, call.u_word, 0, m);
      in_lanes(call.u + left * call.u_text, call.u_word, m, int(call.dim), (V *)words);
      for (int64_t time = start; time < start + TOGETHER && time < times; time++)
        one(time * call.lefts + left, m, words, turned, grid);
    }
    return true;
  }

  // One pair. The lanes of `turned` [n, vectors of m] are left words, those of `grid` [m, vectors of n] right words.
  void one(int64_t pair, int m, const V *words, V *turned, V *grid) const {
    const int n = int(call.right[pair]), down = padded(m, L) / L, across = padded(n, L) / L;
    T *rows = call.rows + pair * call.left_words, *columns = call.columns + pair * call.right_words;
    int64_t *row_positions = call.row_positions + pair * call.left_words;
    int64_t *column_positions = call.column_positions + pair * call.right_words;
    if (m && n) {
      products(pair, n, words, down, turned);
      for (int j = 0; j < n; j += L)
        for (int w = 0; w < down; w++) {
          V cells[L];
#pragma GCC unroll 16
          for (int a = 0; a < L; a++) cells[a] = turned[(j + a) * down + w];
          transpose<T>(cells);
#pragma GCC unroll 16
          for (int a = 0; a < L; a++) grid[(w * L + a) * across + j / L] = cells[a];
        }
      largest(turned, n, down, m, rows, row_positions);
      largest(grid, m, across, n, columns, column_positions);
    }
    absent(n ? m : 0, call.left_words, rows, row_positions);
    absent(m ? n : 0, call.right_words, columns, column_positions);
    if (call.k) best(pair, m, n, rows, columns, (const T *)grid, across * L);
  }

  // turned[j] = the products of right word j and all left words.
  void products(int64_t pair, int n, const V *words, int down, V *turned) const {
    const T *v = call.v + pair * call.v_text;
    for (int w = 0; w < down; w += WIDE) {
      // The right text that comes next is the next one of this left text, or the first one of the next left text.
      const int64_t next = pair + call.lefts < call.pairs ? pair + call.lefts : pair % call.lefts + 1;
      const T *expected = w == 0 && next < call.pairs ? call.v + next * call.v_text : nullptr;
      switch (least(WIDE, down - w)) {
        case 1: stripe<8, 1>(v, n, words + w, down, turned + w, expected); break;
        case 2: stripe<BYTES == 64 ? 8 : 5, 2>(v, n, words + w, down, turned + w, expected); break;
        case 3: stripe<BYTES == 64 ? 8 : 4, 3>(v, n, words + w, down, turned + w, expected); break;
        case 4: stripe<TALL, 4>(v, n, words + w, down, turned + w, expected); break;
        default: stripe<TALL, WIDE>(v, n, words + w, down, turned + w, expected);
      }
    }
  }

  template <int H, int W>
  void stripe(const T *v, int n, const V *words, int down, V *turned, const T *expected) const {
    static_assert(H <= MOST, "turned is too small");
    for (int j = 0; j < n; j += H) {
      const T *rows[H];
      for (int a = 0; a < H; a++) rows[a] = v + least(j + a, n - 1) * call.v_word;  // after the last row: ignored
      if (expected) prefetch(expected, call.v_word, j, least(j + H, n));
      tile<T, H, W>(rows, call.dim, words, down, turned + j * down);
    }
  }

  // Loads words of a text into the cache. The words of a tile are too short for the CPU to foresee the next ones.
  void prefetch(const T *text, int64_t by_word, int from, int end) const {
    for (int i = from; i < end; i++)
      for (int64_t d = 0; d < call.dim; d += 64 / sizeof(T)) __builtin_prefetch(text + i * by_word + d, 0, 2);
  }

  // The largest of `count` cells in each lane, cells[i, w], for the first n lanes of a row; of equal ones the first.
  static void largest(const V *cells, int count, int vectors, int n, T *values, int64_t *positions) {
    for (int w = 0; w < vectors; w++) {
      V most = rank(cells[w]);
      I at = {}, now = {};
      for (int i = 1; i < count; i++) {
        const V x = rank(cells[i * vectors + w]);
        now += 1;
        at = x > most ? now : at;
        most = x > most ? x : most;
      }
      const T *column = (const T *)(cells + w);
      for (int l = 0; l < L && w * L + l < n; l++) {
        positions[w * L + l] = at[l];
        values[w * L + l] = column[at[l] * int64_t(vectors * L) + l];
      }
    }
  }

  // NaN counts as infinity, as in `Best`.
  static INLINE V rank(V x) { return x == x ? x : all(T(INFINITY)); }

  static void absent(int from, int64_t end, T *values, int64_t *positions) {
    for (int64_t i = from; i < end; i++) values[i] = 0, positions[i] = -1;
  }

  // The k largest cells. At least k cells reach the k-th largest of the largest cells of all rows, or of all columns,
  // so that only few have to be compared one by one.
  void best(int64_t pair, int m, int n, const T *rows, const T *columns, const T *grid, int width) const {
    const auto found = [&] { return Best<T>{call.values + pair * call.k, call.positions + pair * call.k, call.k}; };
    const int maxima = greatest(m, n);
    Best<T> all_cells = found();
    if (maxima < call.k || !least(m, n)) {
      for (int i = 0; i < m; i++) all_cells.row(grid + int64_t(i) * width, n, i * call.right_words);
    } else {
      Best<T> bound = found();
      for (int i = 0; i < maxima; i++) bound.offer(m > n ? rows[i] : columns[i], i);
      const T reached = Best<T>::rank(call.values[pair * call.k + call.k - 1]);
      for (int i = 0; i < m; i++)
        if (!(rows[i] < reached)) all_cells.row(grid + int64_t(i) * width, n, i * call.right_words, reached);
    }
    all_cells.close();
  }
};

}  // namespace PAIRLIGHT_WIDTH
