// Small matrix products whose elements are SIMD vectors, with one lane for each text or pair of a block, or each word.
#pragma once
#include "vector.hpp"

namespace PAIRLIGHT_WIDTH {

// Tiles of accumulators that fill the registers without spilling: there are 32 with AVX-512, otherwise 16.
constexpr int ROWS = 10;
constexpr int TALL = BYTES == 64 ? 5 : 4, WIDE = BYTES == 64 ? 5 : 3;

// Copies weights [rows, columns] to the layout that `product` reads: tiles of ROWS rows, column by column; missing rows
// are 0. A bias becomes one more column, whose input is 1. With exchanged strides, the transpose is packed.
template <class T>
inline void pack(const T *weight, int64_t by_row, int64_t by_column, int rows, int columns, const T *bias, T *out) {
  for (int o = 0; o < rows; o += ROWS)
    for (int k = 0; k < columns + (bias ? 1 : 0); k++)
      for (int r = o; r < o + ROWS; r++)
        *out++ = r >= rows ? T(0) : k == columns ? bias[r] : weight[r * by_row + k * by_column];
}

// y = W x, or with ADD y += W x; the size of y includes the missing rows of the last tile.
template <class T, bool ADD = false>
inline void product(const T *packed, int rows, int columns, const Vector<T> *x, Vector<T> *y) {
  for (int o = 0; o < rows; o += ROWS, packed += int64_t(columns) * ROWS) {
    Vector<T> sums[ROWS];
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++) sums[r] = ADD ? y[o + r] : Vector<T>{};
    for (int k = 0; k < columns; k++) {
      const Vector<T> value = x[k];
      const T *w = packed + k * ROWS;
#pragma GCC unroll 16
      for (int r = 0; r < ROWS; r++) sums[r] += all(w[r]) * value;
    }
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++) y[o + r] = sums[r];
  }
}

constexpr int64_t outer_vectors(int rows, int columns) { return int64_t(padded(rows, TALL)) * padded(columns, WIDE); }

// sums[o, k] += the sum over n cells of y[o] x[k], stored in tiles of TALL x WIDE. Reads up to one tile past rows and
// columns; the results for these are never used.
template <class T>
inline void outer(const Vector<T> *y, int y_stride, int rows, const Vector<T> *x, int x_stride, int columns, int n,
                  Vector<T> *sums) {
  for (int o = 0; o < rows; o += TALL)
    for (int k = 0; k < columns; k += WIDE, sums += TALL * WIDE) {
      Vector<T> tile[TALL][WIDE];
#pragma GCC unroll 8
      for (int a = 0; a < TALL; a++)
#pragma GCC unroll 8
        for (int e = 0; e < WIDE; e++) tile[a][e] = sums[a * WIDE + e];
      const Vector<T> *at_y = y + o, *at_x = x + k;
      for (int j = 0; j < n; j++, at_y += y_stride, at_x += x_stride) {
        Vector<T> row[WIDE];
#pragma GCC unroll 8
        for (int e = 0; e < WIDE; e++) row[e] = at_x[e];
#pragma GCC unroll 8
        for (int a = 0; a < TALL; a++) {
          const Vector<T> value = at_y[a];
#pragma GCC unroll 8
          for (int e = 0; e < WIDE; e++) tile[a][e] += value * row[e];
        }
      }
#pragma GCC unroll 8
      for (int a = 0; a < TALL; a++)
#pragma GCC unroll 8
        for (int e = 0; e < WIDE; e++) sums[a * WIDE + e] = tile[a][e];
    }
}

// The element [o, k] of the result of `outer`, summed over the lanes.
template <class T>
inline T outer_at(const Vector<T> *sums, int columns, int o, int k) {
  const int64_t tile = int64_t(o / TALL) * (padded(columns, WIDE) / WIDE) + k / WIDE;
  return sum<T>(sums[tile * TALL * WIDE + o % TALL * WIDE + k % WIDE]);
}

// Puts the n words of a text into lanes, one in each: words[d, w].
template <class T>
inline void in_lanes(const T *text, int64_t by_word, int n, int dim, Vector<T> *words) {
  constexpr int L = LANES<T>;
  const int vectors = padded(n, L) / L;
  for (int w = 0; w < vectors; w++) {
    const T *row[L];
    int count[L];
    for (int l = 0; l < L; l++) {
      count[l] = w * L + l < n ? dim : 0;
      row[l] = count[l] ? text + (w * L + l) * by_word : text;
    }
    gather<T>(row, count, dim, 1, words + w, vectors);
  }
}

// The products of H words and W vectors of words in lanes: out[a, w] = sum over d of rows[a][d] words[d, w]. `wide` is
// the number of vectors of a row of words and of out.
template <class T, int H, int W>
inline void tile(const T *const *rows, int64_t dim, const Vector<T> *words, int wide, Vector<T> *out) {
  Vector<T> sums[H][W] = {};
  for (int64_t d = 0; d < dim; d++, words += wide) {
    Vector<T> column[W];
#pragma GCC unroll 8
    for (int w = 0; w < W; w++) column[w] = words[w];
#pragma GCC unroll 16
    for (int a = 0; a < H; a++) {
      const Vector<T> value = all(rows[a][d]);
#pragma GCC unroll 8
      for (int w = 0; w < W; w++) sums[a][w] += value * column[w];
    }
  }
#pragma GCC unroll 16
  for (int a = 0; a < H; a++)
#pragma GCC unroll 8
    for (int w = 0; w < W; w++) out[a * wide + w] = sums[a][w];
}

}  // namespace PAIRLIGHT_WIDTH
