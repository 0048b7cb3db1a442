#include "elements.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

// The loops are compiled for several processors; the one that runs is chosen when the library loads.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PACELINE_SIMD __attribute__((target_clones("default", "avx2", "arch=skylake-avx512")))
#else
#define PACELINE_SIMD
#endif

// Clang has another word for loops whose rounds don't depend on each other, and before its 15th version
// another one for half floats on x86.
#ifdef __clang__
#define PACELINE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define PACELINE_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace paceline::runtime {
namespace {

#if defined(__clang__) && __clang_major__ < 15
using Half = __fp16;
#else
using Half = _Float16;
#endif

// As the upper half of a float; rounds to the nearest, halves to even.
struct BFloat16 {
  std::uint16_t bits;

  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  static BFloat16 of(float value) {
    const auto whole = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (whole + 0x7fff + ((whole >> 16) & 1)) >> 16;
    const std::uint32_t nan = (whole >> 16) | 0x40;
    return {static_cast<std::uint16_t>(value == value ? rounded : nan)};
  }
};

struct Float16 {
  Half value;

  explicit operator float() const { return static_cast<float>(value); }
  static Float16 of(float value) { return {static_cast<Half>(value)}; }
};

// What is computed in another type than it is kept in.
template <class T>
struct Computed {
  using Type = T;
  static T of(T value) { return value; }
};
template <>
struct Computed<BFloat16> {
  using Type = float;
  static BFloat16 of(float value) { return BFloat16::of(value); }
};
template <>
struct Computed<Float16> {
  using Type = float;
  static Float16 of(float value) { return Float16::of(value); }
};
// Sums of integers wrap around.
template <class Signed, class Unsigned>
struct Wrapping {
  using Type = Signed;
  static Signed of(Signed value) { return value; }
  static Signed add(Signed a, Signed b) {
    return static_cast<Signed>(
        static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  }
};
template <>
struct Computed<std::int8_t> : Wrapping<std::int8_t, std::uint8_t> {};
template <>
struct Computed<std::uint8_t> : Wrapping<std::uint8_t, std::uint8_t> {};
template <>
struct Computed<std::int32_t> : Wrapping<std::int32_t, std::uint32_t> {};
template <>
struct Computed<std::int64_t> : Wrapping<std::int64_t, std::uint64_t> {};

template <class C, class V>
inline V add(V a, V b) {
  if constexpr (requires { C::add(a, b); })
    return C::add(a, b);
  else
    return a + b;
}
template <class V>
inline bool is_nan(V a) {
  if constexpr (std::is_floating_point_v<V>) return std::isnan(a);
  return false;
}
template <class V>
inline V least(V a, V b) {
  return is_nan(b) ? b : (a < b || is_nan(a)) ? a : b;
}
template <class V>
inline V greatest(V a, V b) {
  return is_nan(b) ? b : (a > b || is_nan(a)) ? a : b;
}

// Functions of templates can't be compiled for several processors: one of each type and operation.
// NOLINTBEGIN(bugprone-macro-parentheses): a type in them means something else
#define PACELINE_LOOP(NAME, T, EXPRESSION)                                      \
  PACELINE_SIMD void NAME(T* into, const T* x, const T* y, std::size_t count) { \
    using C = Computed<T>;                                                      \
    using V = C::Type;                                                          \
    PACELINE_INDEPENDENT for (std::size_t i = 0; i < count; ++i) {              \
      const V a = static_cast<V>(x[i]), b = static_cast<V>(y[i]);               \
      into[i] = C::of(EXPRESSION);                                              \
    }                                                                           \
  }
#define PACELINE_LOOPS(SUFFIX, T)                                                                 \
  PACELINE_LOOP(sum_##SUFFIX, T, (add<C, V>(a, b)))                                               \
  PACELINE_LOOP(min_##SUFFIX, T, least<V>(a, b))                                                  \
  PACELINE_LOOP(max_##SUFFIX, T, greatest<V>(a, b))                                               \
  PACELINE_SIMD void mean_##SUFFIX(T* data, std::size_t count, int ranks) {                       \
    using C = Computed<T>;                                                                        \
    using V = C::Type;                                                                            \
    using W = std::conditional_t<std::is_integral_v<V>, std::int64_t, V>;                         \
    for (std::size_t i = 0; i < count; ++i)                                                       \
      data[i] =                                                                                   \
          C::of(static_cast<V>(static_cast<W>(static_cast<V>(data[i])) / static_cast<W>(ranks))); \
  }

PACELINE_LOOPS(float32, float)
PACELINE_LOOPS(float64, double)
PACELINE_LOOPS(float16, Float16)
PACELINE_LOOPS(bfloat16, BFloat16)
PACELINE_LOOPS(int8, std::int8_t)
PACELINE_LOOPS(uint8, std::uint8_t)
PACELINE_LOOPS(int32, std::int32_t)
PACELINE_LOOPS(int64, std::int64_t)

// Calls `run` with a pointer of the type and its loops.
#define PACELINE_CASE(NAME, SUFFIX, T) \
  case NAME:                           \
    return run(static_cast<T*>(nullptr), sum_##SUFFIX, min_##SUFFIX, max_##SUFFIX, mean_##SUFFIX)
// NOLINTEND(bugprone-macro-parentheses)
template <class Run>
void with(paceline_type type, Run run) {
  switch (type) {
    PACELINE_CASE(PACELINE_FLOAT32, float32, float);
    PACELINE_CASE(PACELINE_FLOAT64, float64, double);
    PACELINE_CASE(PACELINE_FLOAT16, float16, Float16);
    PACELINE_CASE(PACELINE_BFLOAT16, bfloat16, BFloat16);
    PACELINE_CASE(PACELINE_INT8, int8, std::int8_t);
    PACELINE_CASE(PACELINE_UINT8, uint8, std::uint8_t);
    PACELINE_CASE(PACELINE_INT32, int32, std::int32_t);
    PACELINE_CASE(PACELINE_INT64, int64, std::int64_t);
  }
}

struct Named {
  std::size_t size;
  std::string_view name;
};
constexpr std::array<Named, 8> kTypes{{{4, "float32"},
                                       {8, "float64"},
                                       {2, "float16"},
                                       {2, "bfloat16"},
                                       {1, "int8"},
                                       {1, "uint8"},
                                       {4, "int32"},
                                       {8, "int64"}}};
constexpr std::array<std::string_view, 4> kOps{"sum", "mean", "min", "max"};

}  // namespace

std::size_t size_of(paceline_type type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kTypes.size() ? kTypes[index].size : 0;
}

bool is_known(paceline_op op) { return static_cast<std::size_t>(op) < kOps.size(); }

std::string_view name_of(paceline_type type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kTypes.size() ? kTypes[index].name : "no type";
}

std::string_view name_of(paceline_op op) {
  return is_known(op) ? kOps[static_cast<std::size_t>(op)] : "no operation";
}

void combine(std::byte* into, const std::byte* a, const std::byte* b, std::size_t count,
             paceline_type type, paceline_op op) {
  with(type, [&]<class T>(T*, auto sum, auto min, auto max, auto) {
    const auto loop = op == PACELINE_MIN ? min : op == PACELINE_MAX ? max : sum;
    loop(reinterpret_cast<T*>(into), reinterpret_cast<const T*>(a), reinterpret_cast<const T*>(b),
         count);
  });
}

void combine_all(std::byte* into, std::span<const std::byte* const> all, const Elements& elements) {
  const auto& [count, type, op] = elements;
  if (count == 0) return;
  combine(into, all[0], all[1], count, type, op);
  for (const auto* each : all.subspan(2)) combine(into, into, each, count, type, op);
  if (op == PACELINE_MEAN) divide(into, count, type, static_cast<int>(all.size()));
}

void divide(std::byte* data, std::size_t count, paceline_type type, int ranks) {
  with(type, [&]<class T>(T*, auto, auto, auto, auto mean) {
    mean(reinterpret_cast<T*>(data), count, ranks);
  });
}

}  // namespace paceline::runtime
