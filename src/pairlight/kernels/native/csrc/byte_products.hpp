// The products of a vector of 16-bit integers with rows of 8-bit integers, each times the scale of its row.
#pragma once
#include "parallel.hpp"
#include "vector.hpp"

namespace PAIRLIGHT_WIDTH {

// The same fields in the same order as `_Call` in byte_products.py, 8 bytes each. All arrays are contiguous.
struct ByteProducts {
  const int8_t *rows;     // [count, dim]
  const int16_t *vector;  // [dim]
  const float *scales;    // [count]
  int64_t count, dim, threads;
  float *out;  // [count]
};

class ByteProductsRun {
 public:
  static int run(const ByteProducts &call) {
    pairlight::parallel((call.count + ROWS_OF_TASK - 1) / ROWS_OF_TASK, call.threads, some, (void *)&call);
    return 0;
  }

 private:
  static constexpr int64_t ROWS_OF_TASK = 1 << 16;

  static void some(void *call_, int64_t task) {
    const ByteProducts &call = *(const ByteProducts *)call_;
    const int64_t end = task * ROWS_OF_TASK + ROWS_OF_TASK;
    for (int64_t i = task * ROWS_OF_TASK; i < end && i < call.count; i++)
      call.out[i] = float(product(call.rows + i * call.dim, call.vector, call.dim)) * call.scales[i];
  }

  static INLINE int32_t product(const int8_t *x, const int16_t *y, int64_t dim) {
    int64_t d = 0;
    int32_t sum = 0;
#if PAIRLIGHT_BYTES == 64
    __m512i sums = _mm512_setzero_si512();
    for (; d + 32 <= dim; d += 32) {
      const __m512i wide = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(x + d)));
      sums = _mm512_add_epi32(sums, _mm512_madd_epi16(wide, _mm512_loadu_si512(y + d)));
    }
    sum = _mm512_reduce_add_epi32(sums);
#elif PAIRLIGHT_BYTES == 32
    __m256i sums = _mm256_setzero_si256();
    for (; d + 16 <= dim; d += 16) {
      const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(x + d)));
      sums = _mm256_add_epi32(sums, _mm256_madd_epi16(wide, _mm256_loadu_si256((const __m256i *)(y + d))));
    }
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
    sum = _mm_cvtsi128_si32(_mm_add_epi32(half, _mm_shuffle_epi32(half, 0xb1)));
#endif
    for (; d < dim; d++) sum += int32_t(x[d]) * y[d];
    return sum;
  }
};

}  // namespace PAIRLIGHT_WIDTH
