// Convolutions of grids with small windows.
//
// A grid is copied once, with its zeros around it, so that its rows follow each other. Then every term of a window is at
// the same distance from the first one, whichever cell the window belongs to, and the lanes run through all rows without
// a gap: what they compute for the few positions at the end of a row where no window fits is not copied to the result.
#pragma once
#include "parallel.hpp"
#include "vector.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in conv2d.py, 8 bytes each. All arrays are contiguous.
template <class T>
struct Conv2d {
  const T *x;       // [batch, channels, height, width]
  const T *weight;  // [maps, channels, rows, columns]
  const T *bias;    // [maps] or null
  int64_t batch, channels, height, width, maps, rows, columns, padding, threads;
  T *y;  // [batch, maps, height + 2 padding - rows + 1, width + 2 padding - columns + 1], not empty
};

template <class T>
class Conv2dRun {
 public:
  static int run(const Conv2d<T> &call) {
    const int64_t terms = call.channels * call.rows * call.columns, tiles = (call.maps + MAPS - 1) / MAPS;
    Buffer<T> weights(tiles * terms * MAPS);
    Buffer<int64_t> places(terms);
    if (!weights || !places) return 1;
    Conv2dRun self{call, call.height + 2 * call.padding, call.width + 2 * call.padding, terms, weights, places, 0};
    for (int64_t t = 0; t < terms; t++) {
      const int64_t channel = t / (call.rows * call.columns), row = t / call.columns % call.rows;
      places[t] = (channel * self.high + row) * self.wide + t % call.columns;
      for (int64_t m = 0; m < call.maps; m++)
        weights[(m / MAPS * terms + t) * MAPS + m % MAPS] = call.weight[m * terms + t];
    }
    pairlight::parallel(call.batch, call.threads, grid, &self);
    return self.failed;
  }

  const Conv2d<T> &call;
  int64_t high, wide, terms;  // the size of a grid with its zeros, and the number of terms of a window
  const T *weights;           // [tiles, terms, MAPS]
  const int64_t *places;      // [terms] the distance of a term from the first one of its window
  int failed;

 private:
  typedef Vector<T> V;
  static constexpr int L = LANES<T>;
  static constexpr int MAPS = BYTES == 64 ? 8 : 4, VECTORS = 3;  // a register tile of y

  static void grid(void *self_, int64_t number) {
    Conv2dRun &self = *(Conv2dRun *)self_;
    const Conv2d<T> &call = self.call;
    const int64_t up = self.high - call.rows + 1, across = self.wide - call.columns + 1;
    const int64_t count = (up - 1) * self.wide + across, step = VECTORS * L;
    // The last vectors may extend beyond the grid.
    Buffer<T> x(call.channels * self.high * self.wide + step), y(MAPS * (count + step));
    if (!x || !y) return __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
    const T *from = call.x + number * call.channels * call.height * call.width;
    for (int64_t c = 0; c < call.channels; c++)
      for (int64_t i = 0; i < call.height; i++, from += call.width)
        memcpy(x + (c * self.high + i + call.padding) * self.wide + call.padding, from, call.width * sizeof(T));
    for (int64_t first = 0; first < call.maps; first += MAPS) {
      const int maps = int(call.maps - first < MAPS ? call.maps - first : MAPS);
      V bias[MAPS] = {};
      for (int m = 0; call.bias && m < maps; m++) bias[m] = all(call.bias[first + m]);
      for (int64_t at = 0; at < count; at += step)
        self.tile(self.weights + first * self.terms, x + at, bias, y + at, count + step);
      T *to = call.y + (number * call.maps + first) * up * across;
      for (int m = 0; m < maps; m++)
        for (int64_t i = 0; i < up; i++, to += across)
          memcpy(to, y + m * (count + step) + i * self.wide, across * sizeof(T));
    }
  }

  void tile(const T *w, const T *x, const V *bias, T *y, int64_t by_map) const {
    V sums[MAPS][VECTORS];
#pragma GCC unroll 8
    for (int m = 0; m < MAPS; m++)
#pragma GCC unroll 8
      for (int v = 0; v < VECTORS; v++) sums[m][v] = bias[m];
    for (int64_t t = 0; t < terms; t++, w += MAPS) {
      V term[VECTORS];
#pragma GCC unroll 8
      for (int v = 0; v < VECTORS; v++) memcpy(&term[v], x + places[t] + v * L, BYTES);
#pragma GCC unroll 8
      for (int m = 0; m < MAPS; m++) {
        const V value = all(w[m]);
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) sums[m][v] += value * term[v];
      }
    }
#pragma GCC unroll 8
    for (int m = 0; m < MAPS; m++)
#pragma GCC unroll 8
      for (int v = 0; v < VECTORS; v++) memcpy(y + m * by_map + v * L, &sums[m][v], BYTES);
  }
};

}  // namespace PAIRLIGHT_WIDTH
