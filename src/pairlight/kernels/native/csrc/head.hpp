// The score of a pair from its features: a linear layer, plus a network with one hidden layer.
#pragma once
#include "vector.hpp"

namespace PAIRLIGHT_WIDTH {

// s = linear·f + constant + out·relu(hidden f + bias); the same fields in the same order as `_Head` in head.py.
struct Head {
  const float *linear;  // [features]
  const float *hidden;  // [features, units]; units is a multiple of 16, and those that are missing are 0
  const float *bias, *out;  // [units]
  int64_t features, units;
  double constant;

  typedef Vector<float> V;
  static constexpr int L = LANES<float>;

  static INLINE V load(const float *x) {
    V y;
    memcpy(&y, x, BYTES);
    return y;
  }

  float score(const float *f) const {
    float total = float(constant);
    for (int64_t i = 0; i < features; i++) total += linear[i] * f[i];
    V network = {};
    for (int64_t u = 0; u < units; u += L) {
      V h = load(bias + u);
      for (int64_t i = 0; i < features; i++) h += all(f[i]) * load(hidden + i * units + u);
      network += larger(V{}, h) * load(out + u);
    }
    return total + sum<float>(network);
  }

  // No features between `low` and `high` have a higher score, and no rounding error makes it one.
  float bound(const float *low, const float *high) const {
    const V rounding = all(1e-6f);
    float total = float(constant), size = fabsf(float(constant));
    for (int64_t i = 0; i < features; i++) {
      const float a = linear[i] * low[i], b = linear[i] * high[i];
      total += a > b ? a : b;
      size += fabsf(a) > fabsf(b) ? fabsf(a) : fabsf(b);
    }
    V network = {}, sizes = {};
    for (int64_t u = 0; u < units; u += L) {
      const V start = load(bias + u), weight = load(out + u);
      V most = start, least = start, terms = larger(start, -start);
      for (int64_t i = 0; i < features; i++) {
        const V w = load(hidden + i * units + u), a = w * all(low[i]), b = w * all(high[i]);
        const V more = larger(a, b), less = smaller(a, b);
        most += more, least += less, terms += larger(more, -less);
      }
      most = larger(V{}, most + terms * rounding), least = larger(V{}, least - terms * rounding);
      const V largest = larger(weight * most, weight * least);
      network += largest;
      sizes += larger(largest, -largest);
    }
    return total + sum<float>(network) + 1e-6f * (size + sum<float>(sizes));
  }
};

}  // namespace PAIRLIGHT_WIDTH
