// How long a job still has to run: its length, declared by its owner, else what its progress says,
// else what its owner's jobs of its name took, less what it has run. Declared and learned lengths are
// running seconds at the size that the submission wanted. At another size, be it one that the owner gave by
// `resize` or one of its past, the speeds count that the job expects, else the number of workers. What is left
// at a size that it may get is divided by its speed there (scaling.hpp).
//
// A job that was measured on several device models ran for a while on each, so that its running says little of
// what is left: once progress is believed, what is left of its work is divided by its rate. Lengths are as on its
// main model; what remains is as on the one that it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "model/job.hpp"

namespace paceline {

struct Node;

// What is most likely, and what lies between the bounds with a chance of about nine in ten.
struct Prediction {
  Duration likely{};
  Duration low{};
  Duration high{};
  friend bool operator==(const Prediction&, const Prediction&) = default;
};

// Where a length is known from. Progress is believed once a job has reported a twentieth.
enum class LengthSource { unknown, name, declared, progress };

std::string_view to_string(LengthSource source);  // "unknown", "name", "declared", "progress"

LengthSource length_source(const Job& job);

// Running seconds that count, at the size that its submission wanted.
double length_run(const Job& job, Time now);

// The length that would have to be declared for so many seconds to be left at the wanted size.
Duration length_to_declare(const Job& job, Time now, double left);

// How fast its present devices are for it at its present size, where 1 is its main model (scaling.hpp).
double pace_now(const std::vector<Node>& nodes, const Job& job);

// Seconds left at the wanted size on its main model; infinity if unknown. Exact for a job that waits, whatever
// `now`. With another `pace` than 1 what it does since its newest report counts as much.
double length_left(const Job& job, Time now, double pace = 1);

// Seconds left at the wanted size, and the bounds between which the truth lies with a chance of about
// eight in ten. A declared length, or that of a name, is off by a part of the whole of it, one that
// progress tells by a part of what is left. Of unknown length: `usual` seconds are likeliest, a
// tenth and ten times as long are nothing unusual, and what has run long may run long.
struct LengthLeft {
  double likely = 0, low = 0, high = 0;
};
LengthLeft length_left_within(const Job& job, Time now, double usual, double pace = 1);

// By how much length_left() changes a second, as long as nothing happens to the job.
double length_slope(const Job& job);

// Running time left with so many workers from now on, on devices of the model that it has now. Nothing if the
// length is unknown.
std::optional<Prediction> remaining(const std::vector<Node>& nodes, const Job& job, Time now,
                                    std::int32_t workers);

// The likeliest time left at its present size, or at the wanted one if it waits.
std::optional<Duration> remaining(const std::vector<Node>& nodes, const Job& job, Time now);

}  // namespace paceline
