// SIMD vectors of the width for which this file is compiled, and the functions on them that the kernels need.
//
// The same sources are compiled once for each width, with its name in PAIRLIGHT_WIDTH and the size of a vector in
// PAIRLIGHT_BYTES. All code is in a namespace of that name, and no code of the standard library is used that the
// compiler may emit as a separate function: the linker would keep one copy for all widths, and a CPU without AVX-512
// could execute the AVX-512 one.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define INLINE inline __attribute__((always_inline))

namespace PAIRLIGHT_WIDTH {

constexpr int BYTES = PAIRLIGHT_BYTES;

template <class T>
struct Lanes;
template <>
struct Lanes<float> {
  typedef float Vector __attribute__((vector_size(BYTES)));
  typedef int32_t Integers __attribute__((vector_size(BYTES)));
};
template <>
struct Lanes<double> {
  typedef double Vector __attribute__((vector_size(BYTES)));
  typedef int64_t Integers __attribute__((vector_size(BYTES)));
};
template <class T>
using Vector = typename Lanes<T>::Vector;
template <class T>
using Integers = typename Lanes<T>::Integers;
template <class T>
constexpr int LANES = BYTES / int(sizeof(T));

INLINE int least(int a, int b) { return a < b ? a : b; }
INLINE int greatest(int a, int b) { return a > b ? a : b; }
constexpr int padded(int n, int step) { return (n + step - 1) / step * step; }

// An initialiser list compiles to a single broadcast instruction; adding a scalar to a zero vector does not.
template <class T, int... J>
INLINE Vector<T> all_of(T x, std::integer_sequence<int, J...>) {
  return Vector<T>{((void)J, x)...};
}
template <class T>
INLINE Vector<T> all(T x) {
  return all_of<T>(x, std::make_integer_sequence<int, LANES<T>>());
}

template <int... J>
INLINE Integers<float> all_integers_of(int32_t x, std::integer_sequence<int, J...>) {
  return Integers<float>{((void)J, x)...};
}
INLINE Integers<float> all_integers(int32_t x) {
  return all_integers_of(x, std::make_integer_sequence<int, LANES<float>>());
}

// If an argument is NaN, both return the second: with the constant first, NaN is propagated.
template <class V>
INLINE V larger(V a, V b) {
  return a > b ? a : b;
}
template <class V>
INLINE V smaller(V a, V b) {
  return a < b ? a : b;
}

// 2^y with a relative error of 1.6e-7, for |y| <= 126: y = n + f, with a minimax polynomial of degree 5 for 2^f, and
// 2^n written to the exponent bits. Adding 1.5 * 2^23 leaves the rounded y in the low bits; 127 is the exponent bias.
INLINE Vector<float> power_of_two(Vector<float> y) {
  typedef Vector<float> V;
  const V magic = all(12582912.f + 127.f);
  const V t = y + magic;
  const V f = y - (t - magic);
  V p = f * all(0.001326472731307149f) + all(0.009671512991189957f);
  p = p * f + all(0.05550733581185341f);
  p = p * f + all(0.24022242426872253f);
  p = p * f + all(0.6931470036506653f);
  p = p * f + all(1.f);
  return p * (V)((Integers<float>)t << 23);
}
INLINE Vector<double> power_of_two(Vector<double> y) {
  for (int l = 0; l < LANES<double>; l++) y[l] = exp2(y[l]);
  return y;
}

template <class T>
constexpr T LOG2_E = T(1.44269504088896340736);
template <class T>
constexpr T BOUND = sizeof(T) == 4 ? T(126) : T(1000);  // 2^BOUND and 2^-BOUND are normal numbers

template <class T>
INLINE Vector<T> bounded(Vector<T> y) {
  return smaller(all(BOUND<T>), larger(all(-BOUND<T>), y));
}

template <class T>
INLINE Vector<T> sigmoid(Vector<T> x) {
  return all(T(1)) / (all(T(1)) + power_of_two(bounded<T>(x * all(-LOG2_E<T>))));
}

// The softmax of four numbers. The largest is subtracted first, so that no power exceeds 1.
template <class T>
INLINE void softmax(Vector<T> &a, Vector<T> &b, Vector<T> &c, Vector<T> &d) {
  const Vector<T> scale = all(LOG2_E<T>), least = all(-BOUND<T>);
  const Vector<T> most = larger(larger(a, b), larger(c, d)) * scale;
  a = power_of_two(larger(least, a * scale - most));
  b = power_of_two(larger(least, b * scale - most));
  c = power_of_two(larger(least, c * scale - most));
  d = power_of_two(larger(least, d * scale - most));
  const Vector<T> share = all(T(1)) / ((a + b) + (c + d));
  a *= share, b *= share, c *= share, d *= share;
}

INLINE Vector<float> hyperbolic_tangent(Vector<float> x) {
  typedef Vector<float> V;
  V far = all(1.f) - all(2.f) / (power_of_two(bounded<float>(x * all(2 * LOG2_E<float>))) + all(1.f));
  V z = x * x;  // near zero, the quotient would lose precision
  V p = z * all(-5.70498872745e-3f) + all(2.06390887954e-2f);
  p = p * z + all(-5.37397155531e-2f);
  p = p * z + all(1.33314422036e-1f);
  p = p * z + all(-3.33332819422e-1f);
  V near = p * z * x + x;
  return z < all(0.390625f) ? near : far;
}
INLINE Vector<double> hyperbolic_tangent(Vector<double> x) {
  for (int l = 0; l < LANES<double>; l++) x[l] = tanh(x[l]);
  return x;
}

// The first `count` numbers, or a whole vector of more, followed by zeros; and the inverse. Beyond them, no memory is
// touched.
#if PAIRLIGHT_BYTES == 64
INLINE uint32_t first_lanes(int count, int lanes) { return count >= lanes ? ~0u : count > 0 ? (1u << count) - 1 : 0; }
INLINE Vector<float> read_lanes(const float *from, int count) {
  return (Vector<float>)_mm512_maskz_loadu_ps(__mmask16(first_lanes(count, 16)), from);
}
INLINE Vector<double> read_lanes(const double *from, int count) {
  return (Vector<double>)_mm512_maskz_loadu_pd(__mmask8(first_lanes(count, 8)), from);
}
INLINE void write_lanes(float *to, Vector<float> x, int count) {
  _mm512_mask_storeu_ps(to, __mmask16(first_lanes(count, 16)), (__m512)x);
}
INLINE void write_lanes(double *to, Vector<double> x, int count) {
  _mm512_mask_storeu_pd(to, __mmask8(first_lanes(count, 8)), (__m512d)x);
}
#else
template <class T>
INLINE Vector<T> read_lanes(const T *from, int count) {
  Vector<T> x = {};
  if (count >= LANES<T>)
    memcpy(&x, from, BYTES);
  else
    for (int l = 0; l < count; l++) x[l] = from[l];
  return x;
}
template <class T>
INLINE void write_lanes(T *to, Vector<T> x, int count) {
  if (count >= LANES<T>)
    memcpy((void *)to, &x, BYTES);
  else
    for (int l = 0; l < count; l++) to[l] = x[l];
}
#endif

template <class T>
INLINE T sum(Vector<T> x) {
  T total = 0;
  for (int l = 0; l < LANES<T>; l++) total += x[l];
  return total;
}

// Two rows at distance S exchange their off-diagonal blocks of S columns.
template <class T, int S, int... J>
INLINE void exchange(Vector<T> &a, Vector<T> &b, std::integer_sequence<int, J...>) {
  constexpr int L = LANES<T>;
#if defined(__clang__)
  Vector<T> low = __builtin_shufflevector(a, b, (J & S ? L + J - S : J)...);
  Vector<T> high = __builtin_shufflevector(a, b, (J & S ? L + J : J + S)...);
#else
  Vector<T> low = __builtin_shuffle(a, b, Integers<T>{(J & S ? L + J - S : J)...});
  Vector<T> high = __builtin_shuffle(a, b, Integers<T>{(J & S ? L + J : J + S)...});
#endif
  a = low;
  b = high;
}

// Transposes L vectors of L lanes in place.
template <class T, int S = LANES<T> / 2>
INLINE void transpose(Vector<T> *a) {
#pragma GCC unroll 16
  for (int i = 0; i < LANES<T>; i++)
    if (!(i & S)) exchange<T, S>(a[i], a[i + S], std::make_integer_sequence<int, LANES<T>>());
  if constexpr (S > 1) transpose<T, S / 2>(a);
}

// Lane l of out[k * stride] = row[l][k * step] if k < count[l], otherwise 0; step is 1, or -1 to read in reverse.
template <class T>
inline void gather(const T *const *row, const int *count, int n, int step, Vector<T> *out, int stride) {
  constexpr int L = LANES<T>;
  for (int k = 0; k < n; k += L) {
    Vector<T> a[L];
    for (int l = 0; l < L; l++)
      if (k + L <= count[l]) {
        memcpy(&a[l], step > 0 ? row[l] + k : row[l] - k - (L - 1), BYTES);
      } else {
        T part[L] = {};
        for (int q = 0; q < L && k + q < count[l]; q++) part[step > 0 ? q : L - 1 - q] = row[l][(k + q) * step];
        memcpy(&a[l], part, BYTES);
      }
    transpose<T>(a);
    for (int q = 0; q < L && k + q < n; q++) out[(k + q) * stride] = a[step > 0 ? q : L - 1 - q];
  }
}

// The inverse: row[l][k * step] = (or with ADD +=) lane l of in[k * stride] if k < count[l].
template <class T, bool ADD = false>
inline void scatter(const Vector<T> *in, int stride, int n, T *const *row, const int *count, int step) {
  constexpr int L = LANES<T>;
  for (int k = 0; k < n; k += L) {
    Vector<T> a[L];
    for (int q = 0; q < L; q++) a[step > 0 ? q : L - 1 - q] = k + q < n ? in[(k + q) * stride] : Vector<T>{};
    transpose<T>(a);
    for (int l = 0; l < L; l++)
      if (k + L <= count[l]) {
        T *to = step > 0 ? row[l] + k : row[l] - k - (L - 1);
        if (ADD) {
          Vector<T> old;
          memcpy(&old, to, BYTES);
          a[l] += old;
        }
        memcpy(to, &a[l], BYTES);
      } else {
        T part[L];
        memcpy(part, &a[l], BYTES);
        for (int q = 0; q < L && k + q < count[l]; q++) {
          T &to = row[l][(k + q) * step], value = part[step > 0 ? q : L - 1 - q];
          to = ADD ? to + value : value;
        }
      }
  }
}

// Memory for n elements, zero unless it is written as a whole anyway, or a null pointer if there is not enough.
template <class V>
class Buffer {
 public:
  explicit Buffer(int64_t n, bool zero = true) {
    void *p = nullptr;
    const size_t bytes = size_t(n) * sizeof(V) + 64;
    if (posix_memalign(&p, 64, bytes) != 0) return;
    if (zero) memset(p, 0, bytes);
    data_ = (V *)p;
  }
  ~Buffer() { free(data_); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  operator V *() const { return data_; }

 private:
  V *data_ = nullptr;
};

}  // namespace PAIRLIGHT_WIDTH
