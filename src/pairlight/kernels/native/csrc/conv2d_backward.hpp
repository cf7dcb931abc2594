// The gradients of a convolution of grids of which few cells of the result have a gradient, as after max pooling: every
// such cell adds its window to the gradient of the weights, and the weights to the gradient of its window.
#pragma once
#include "parallel.hpp"
#include "vector.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_BackwardCall` in conv2d.py, 8 bytes each. All arrays are contiguous.
template <class T>
struct Conv2dBackward {
  const T *x;       // [batch, channels, height, width]
  const T *weight;  // [maps, channels, rows, columns]
  const T *d_y;     // [batch, maps, height + 2 padding - rows + 1, width + 2 padding - columns + 1], not empty
  int64_t batch, channels, height, width, maps, rows, columns, padding, threads;
  T *d_x;       // the shape of x, or null
  T *d_weight;  // the shape of weight
};

template <class T>
class Conv2dBackwardRun {
 public:
  static int run(const Conv2dBackward<T> &call) {
    // The number of tasks does not depend on that of threads, and neither do the sums.
    const int64_t tasks = call.batch < TASKS ? call.batch : TASKS;
    const int64_t lines = call.channels * call.rows, across = (call.columns + L - 1) / L * L;
    const int64_t size = call.maps * lines * across;
    Buffer<T> weight(size), d_weight(tasks * size);
    if (!weight || !d_weight) return 1;
    for (int64_t line = 0; line < call.maps * lines; line++)
      memcpy(weight + line * across, call.weight + line * call.columns, call.columns * sizeof(T));
    const int64_t high = call.height + 2 * call.padding, wide = call.width + 2 * call.padding;
    Conv2dBackwardRun self{call, high, wide, lines, across, size, tasks, weight, d_weight, 0};
    pairlight::parallel(tasks, call.threads, part, &self);
    for (int64_t line = 0; line < call.maps * lines; line++)
      for (int64_t b = 0; b < call.columns; b++) {
        T total = 0;
        for (int64_t task = 0; task < tasks; task++) total += d_weight[task * size + line * across + b];
        call.d_weight[line * call.columns + b] = total;
      }
    return self.failed;
  }

  const Conv2dBackward<T> &call;
  int64_t high, wide;           // the size of a grid with its zeros
  int64_t lines, across, size;  // a window has this many lines, of which each fills whole vectors
  int64_t tasks;
  const T *weight;  // [maps, lines, across]
  T *d_weight;      // [tasks, maps, lines, across]
  int failed;

 private:
  typedef Vector<T> V;
  static constexpr int L = LANES<T>;
  static constexpr int64_t TASKS = 8;

  static void part(void *self_, int64_t task) {
    Conv2dBackwardRun &self = *(Conv2dBackwardRun *)self_;
    const Conv2dBackward<T> &call = self.call;
    const int64_t cells = call.channels * self.high * self.wide;
    Buffer<T> x(cells + self.across), d_x(cells + self.across);  // the last vectors may extend beyond the grid
    if (!x || !d_x) return __atomic_store_n(&self.failed, 1, __ATOMIC_RELAXED);
    for (int64_t b = task * call.batch / self.tasks; b < (task + 1) * call.batch / self.tasks; b++) {
      const int64_t first = b * call.channels * call.height;
      for (int64_t line = 0; line < call.channels * call.height; line++)
        memcpy(x + self.inside(line), call.x + (first + line) * call.width, call.width * sizeof(T));
      memset((void *)(T *)d_x, 0, cells * sizeof(T));
      self.grid(b, x, d_x, self.d_weight + task * self.size);
      for (int64_t line = 0; call.d_x && line < call.channels * call.height; line++)
        memcpy(call.d_x + (first + line) * call.width, d_x + self.inside(line), call.width * sizeof(T));
    }
  }

  // Where a line of all channels starts in a grid with its zeros.
  int64_t inside(int64_t line) const {
    return (line / call.height * high + line % call.height + call.padding) * wide + call.padding;
  }

  void grid(int64_t b, const T *x, T *d_x, T *d_weight) const {
    const int64_t up = high - call.rows + 1, along = wide - call.columns + 1;
    const T *d_y = call.d_y + b * call.maps * up * along;
    for (int64_t m = 0; m < call.maps; m++)
      for (int64_t i = 0; i < up; i++)
        for (int64_t j = 0; j < along; j++)
          if (const T d = *d_y++; d != 0) {
            const V d_cell = all(d);
            const T *w = weight + m * lines * across;
            T *d_w = d_weight + m * lines * across;
            for (int64_t c = 0; c < call.channels; c++)
              for (int64_t a = 0; a < call.rows; a++) {
                const int64_t at = (c * high + i + a) * wide + j;
                for (int64_t v = 0; v < across; v += L, w += L, d_w += L) {
                  add(d_w, d_cell, x + at + v);
                  add(d_x + at + v, d_cell, w);
                }
              }
          }
  }

  static INLINE void add(T *to, V factor, const T *from) {
    V sum, x;
    memcpy(&sum, to, BYTES);
    memcpy(&x, from, BYTES);
    sum += factor * x;
    memcpy((void *)to, &sum, BYTES);
  }
};

}  // namespace PAIRLIGHT_WIDTH
