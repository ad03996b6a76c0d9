// Result<T>: a value, or the findings that say why there is none. For errors that a user can cause;
// a broken invariant of the program throws instead.
#pragma once

#include <cassert>
#include <optional>
#include <utility>
#include <variant>

#include "base/finding.h"

namespace muster {

/// The error side of a Result. Constructs from one finding or several.
struct Failure {
  Findings findings;

  explicit Failure(Finding finding) { findings.push_back(std::move(finding)); }
  explicit Failure(Findings several) : findings(std::move(several)) {}
};

/// Failure without a place: for errors of the environment rather than of an input text.
Failure failure(std::string rule, std::string message, std::string hint = {});

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Failure error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// The value; calling this on a failure is a bug of the caller.
  T& value() & {
    assert(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    assert(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    assert(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// Why there is no value; empty when there is one.
  const Findings& findings() const {
    static const Findings kNone;
    return ok() ? kNone : std::get<1>(state_).findings;
  }

  /// The failure, to hand on: `if (!r) return r.error();`
  Failure error() const {
    assert(!ok());
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Failure> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Failure error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Findings& findings() const {
    static const Findings kNone;
    return ok() ? kNone : error_->findings;
  }
  Failure error() const {
    assert(!ok());
    return *error_;
  }

 private:
  std::optional<Failure> error_;
};

}  // namespace muster
