// The largest cell of every pair of a segment of rows and a segment of columns of grids.
#pragma once
#include "parallel.hpp"
#include "vector.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in segment_max.py, 8 bytes each. All arrays are contiguous.
template <class T>
struct SegmentMax {
  const T *x;            // [batch, channels, height, width]
  const int64_t *i, *j;  // [batch, rows, high], [batch, columns, wide]: the positions of each segment
  int64_t batch, channels, height, width, rows, high, columns, wide, threads;
  T *y;         // [batch, channels, rows, columns]
  int64_t *at;  // the same shape, or null: the position row * width + column of each largest cell
};

template <class T>
class SegmentMaxRun {
 public:
  static int run(const SegmentMax<T> &call) {
    SegmentMaxRun self{call, 0};
    pairlight::parallel(call.batch, call.threads, grid, &self);
    return self.failed;
  }

  const SegmentMax<T> &call;
  int failed;

 private:
  typedef Vector<T> V;
  static constexpr int L = LANES<T>;

  // NaN is larger than any number.
  static INLINE V most(V a, V b) { return (a > b) | (a != a) ? a : b; }
  static INLINE T most(T a, T b) { return a > b || a != a ? a : b; }

  static INLINE bool same(T a, T b) { return a == b || (a != a && b != b); }

  // Of the largest cells, the first one of the first column.
  static int64_t position(const T *x, int64_t width, const int64_t *i, const int64_t *j, const T *largest, T best) {
    while (!same(largest[*j], best)) j++;
    while (!same(x[*i * width + *j], best)) i++;
    return *i * width + *j;
  }

  static void grid(void *self_, int64_t number) {
    SegmentMaxRun &self = *(SegmentMaxRun *)self_;
    const SegmentMax<T> &call = self.call;
    Buffer<T> largest(call.width + L);  // of every column, in one segment of rows
    if (!largest) return __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
    const int64_t cells = call.height * call.width;
    T *y = call.y + number * call.channels * call.rows * call.columns;
    int64_t *at = call.at ? call.at + number * call.channels * call.rows * call.columns : nullptr;
    for (int64_t c = 0; c < call.channels; c++) {
      const T *x = call.x + (number * call.channels + c) * cells;
      const int64_t *i = call.i + number * call.rows * call.high;
      for (int64_t p = 0; p < call.rows; p++, i += call.high) {
        for (int64_t r = 0; r < call.width; r += L) {
          const int64_t size = (call.width - r < L ? call.width - r : L) * int64_t(sizeof(T));
          V best = all(-T(INFINITY));
          for (int64_t w = 0; w < call.high; w++) {
            V cell = {};
            if (size == BYTES) memcpy(&cell, x + i[w] * call.width + r, BYTES);
            else memcpy(&cell, x + i[w] * call.width + r, size_t(size));
            best = most(cell, best);
          }
          memcpy(largest + r, &best, BYTES);
        }
        const int64_t *j = call.j + number * call.columns * call.wide;
        for (int64_t q = 0; q < call.columns; q++, j += call.wide) {
          T best = -T(INFINITY);
          for (int64_t w = 0; w < call.wide; w++) best = most(largest[j[w]], best);
          *y++ = best;
          if (at) *at++ = position(x, call.width, i, j, largest, best);
        }
      }
    }
  }
};

}  // namespace PAIRLIGHT_WIDTH
