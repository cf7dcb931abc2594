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
};

}  // namespace PAIRLIGHT_WIDTH
