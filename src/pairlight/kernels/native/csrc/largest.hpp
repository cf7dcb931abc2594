// The k largest cells of a grid whose rows are in lanes, found by way of a bound that at least k cells reach.
#pragma once
#include "kmax.hpp"

namespace PAIRLIGHT_WIDTH {

constexpr int SOME = 64;  // cells that are sorted by comparing each with each

// Which lanes of a mask are set, one bit for each.
INLINE uint32_t lanes_of(Integers<float> mask) {
#if PAIRLIGHT_BYTES == 64
  return _mm512_movepi32_mask((__m512i)mask);
#elif PAIRLIGHT_BYTES == 32
  return uint32_t(_mm256_movemask_ps((__m256)mask));
#else
  uint32_t bits = 0;
  for (int l = 0; l < LANES<float>; l++) bits |= uint32_t(mask[l] & 1) << l;
  return bits;
#endif
}

// The k-th largest of n numbers: the smallest of those that fewer than k others exceed. Each lane counts for one.
template <class T>
inline T kth_largest(const T *x, int n, int64_t k) {
  constexpr int L = LANES<T>;
  Vector<T> smallest = all(T(INFINITY));
  for (int i = 0; i < n; i += L) {
    Vector<T> own = all(-T(INFINITY));
    memcpy(&own, x + i, i + L <= n ? BYTES : (n - i) * sizeof(T));
    Integers<T> exceeded = {};
    for (int j = 0; j < n; j++) exceeded -= all(x[j]) > own;
    smallest = (exceeded < int32_t(k)) & (own > all(-T(INFINITY))) ? smaller(own, smallest) : smallest;
  }
  T least = smallest[0];
  for (int l = 1; l < L; l++) least = smallest[l] < least ? smallest[l] : least;
  return least;
}

// Writes the k largest of n numbers, largest first. The place of each is the number of those before it.
template <class T>
inline void sort_largest(const T *x, int n, int64_t k, T *out) {
  constexpr int L = LANES<T>;
  for (int i = 0; i < n; i += L) {
    Vector<T> own = {};
    memcpy(&own, x + i, i + L <= n ? BYTES : (n - i) * sizeof(T));
    Integers<T> before = {}, number;
    for (int l = 0; l < L; l++) number[l] = i + l;
    for (int j = 0; j < n; j++) {
      const Vector<T> other = all(x[j]);
      before -= (other > own) | ((other == own) & (number > j));
    }
    for (int l = 0; l < L && i + l < n; l++)
      if (before[l] < k) out[before[l]] = own[l];
  }
}

}  // namespace PAIRLIGHT_WIDTH
