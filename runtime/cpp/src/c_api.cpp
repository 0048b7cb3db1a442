// The C ABI: arguments are checked, exceptions end here.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "attendant.hpp"
#include "elements.hpp"
#include "group.hpp"
#include "paceline/runtime.h"
#include "place.hpp"
#include "worker_socket.hpp"

using paceline::runtime::Attendant;
using paceline::runtime::bad;
using paceline::runtime::Collectives;
using paceline::runtime::fail;
using paceline::runtime::Failure;
using paceline::runtime::Generations;
using paceline::runtime::Group;
using paceline::runtime::Identity;
using paceline::runtime::Links;
using paceline::runtime::Next;
using paceline::runtime::Outcome;
using paceline::runtime::Place;
using paceline::runtime::Venue;

struct paceline_group {
  explicit paceline_group(std::unique_ptr<Links> links) : group(std::move(links)) {}
  Group group;
};

struct paceline_attendant {
  std::unique_ptr<Attendant> attendant;
};

namespace {

constexpr int kSizeMax = 1024;
constexpr std::size_t kSecretMin = 16;
constexpr std::chrono::milliseconds kHearsWithin{1'000};
constexpr std::uint64_t kTimeoutMaxMs = std::uint64_t{365} * 24 * 3600 * 1000;

int tell(const Outcome<void>& outcome, paceline_error* error) {
  const Failure none{PACELINE_OK, -1, {}};
  const Failure& failure = outcome ? none : outcome.error();
  if (error != nullptr) {
    error->cause = failure.cause;
    error->rank = failure.rank;
    const auto count = std::min(failure.message.size(), sizeof error->message - 1);
    failure.message.copy(error->message, count);
    error->message[count] = '\0';
  }
  return failure.cause;
}

// Exceptions of the standard library: this process is out of memory or threads.
template <class Run>
auto guarded(Run run) -> decltype(run()) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return fail(PACELINE_SYSTEM, -1, "No memory is left for it.");
  } catch (const std::exception& exception) {
    return fail(PACELINE_SYSTEM, -1, std::string("It can't be done: ") + exception.what() + ".");
  }
}

Outcome<void> check(const paceline_group_options& options) {
  if (options.size < 1 || options.size > kSizeMax)
    return bad("A group has 1 to " + std::to_string(kSizeMax) + " ranks, not " +
               std::to_string(options.size) + ".");
  if (options.rank < 0 || options.rank >= options.size)
    return bad("Rank " + std::to_string(options.rank) + " is not in a group of " +
               std::to_string(options.size) + "; ranks go from 0 to " +
               std::to_string(options.size - 1) + ".");
  if (options.secret == nullptr || options.secret_size < kSecretMin)
    return bad("A group needs a secret of at least " + std::to_string(kSecretMin) + " bytes.");
  if (options.timeout_ms > kTimeoutMaxMs) return bad("A time limit is at most a year.");
  return {};
}

Outcome<std::unique_ptr<paceline_group>> opened(const paceline_group_options& options) {
  if (auto checked = check(options); !checked) return fail(std::move(checked.error()));
  const std::string secret(static_cast<const char*>(options.secret), options.secret_size);
  const Identity own{options.rank, options.size, options.generation, secret};
  const std::string address = options.address == nullptr ? "" : options.address;
  auto links = Links::open(own, address, std::chrono::milliseconds(options.timeout_ms));
  if (!links) return fail(std::move(links.error()));
  return std::make_unique<paceline_group>(std::move(*links));
}

// Paceline warns of a gang whose ranks don't find each other.
Outcome<void> met(paceline_group& group, const Venue& venue) {
  auto done = group.group.meet(venue);
  const auto& links = group.group.links();
  const char* const socket = std::getenv("PACELINE_SOCKET");
  if (done && links.size() > 1 && links.rank() == 0 && socket != nullptr)
    paceline::runtime::say_of_gang(socket, "met", links.generation(), kHearsWithin);
  return done;
}

Outcome<std::unique_ptr<paceline_group>> opened(const Place& place, std::uint64_t timeout_ms) {
  paceline_group_options options{};
  options.rank = place.rank;
  options.size = place.size;
  options.generation = place.generation;
  options.secret = place.secret.data();
  options.secret_size = place.secret.size();
  options.address = place.address.empty() ? nullptr : place.address.c_str();
  options.timeout_ms = timeout_ms;
  return opened(options);
}

Outcome<std::unique_ptr<paceline_group>> joined(const Place& place, std::uint64_t timeout_ms) {
  auto group = opened(place, timeout_ms);
  if (!group) return group;
  if (auto done = met(**group, place.venue); !done) return fail(std::move(done.error()));
  return group;
}

Outcome<Place> own_place() {
  return Place::read([](const char* name) { return std::getenv(name); });
}

Outcome<Place> newest_place(const std::optional<Next>& next) {
  if (!next) return own_place();
  if (!next->environment) return fail(PACELINE_LEFT, -1, "The gang goes on without this worker.");
  return Place::read([&next](const char* name) {
    const auto found = next->environment->find(name);
    return found == next->environment->end() ? nullptr : found->second.c_str();
  });
}

Outcome<std::unique_ptr<paceline_group>> joined(Generations& generations, const Place& place,
                                                std::uint64_t timeout_ms) {
  auto group = opened(place, timeout_ms);
  if (!group) return group;
  // The group itself, since `group` may be moved from before the calling off ends.
  const Generations::CallingOff calling_off(generations, place.generation, [one = group->get()] {
    one->group.abort("it is called off");
  });
  auto done = met(**group, place.venue);
  if (calling_off.happened())
    return fail(PACELINE_LEFT, -1, "The gang goes on without this generation.");
  if (!done) return fail(std::move(done.error()));
  return group;
}

void tell(const Place& place, paceline_place* told) {
  if (told != nullptr) *told = {place.rank, place.size, place.local_rank, place.generation};
}

Outcome<void> check(const paceline_group& group, const void* data, std::size_t count,
                    paceline_type type, paceline_op op) {
  if (!group.group.connected()) return bad("The group is not connected yet.");
  if (paceline::runtime::size_of(type) == 0)
    return bad("There is no type " + std::to_string(type) + ".");
  if (!paceline::runtime::is_known(op))
    return bad("There is no operation " + std::to_string(op) + ".");
  if (data == nullptr && count > 0) return bad("There is no data.");
  return {};
}

// What can't be said now is said again with the next news.
void say(const paceline_attendant& attendant, const char* what, std::uint64_t generation) {
  static_cast<void>(guarded([&]() -> Outcome<void> {
    auto* const generations = attendant.attendant->generations();
    if (generations != nullptr) generations->say(what, generation);
    return {};
  }));
}

Outcome<void> check_rank(const paceline_group& group, int rank) {
  const int size = group.group.links().size();
  if (rank >= 0 && rank < size) return {};
  return bad("There is no rank " + std::to_string(rank) + " in a group of " + std::to_string(size) +
             ".");
}

std::byte* bytes(void* data) { return static_cast<std::byte*>(data); }
const std::byte* bytes(const void* data) { return static_cast<const std::byte*>(data); }

// Checks, then runs.
template <class Operation>
int run(paceline_group* group, const Outcome<void>& checked, paceline_error* error,
        Operation operation) {
  return tell(guarded([&]() -> Outcome<void> {
                if (!checked) return checked;
                return group->group.run(operation);
              }),
              error);
}

}  // namespace

extern "C" {

paceline_group* paceline_group_open(const paceline_group_options* options, paceline_error* error) {
  paceline_group* group = nullptr;
  tell(guarded([&]() -> Outcome<void> {
         auto result = opened(*options);
         if (!result) return fail(std::move(result.error()));
         group = result->release();
         return {};
       }),
       error);
  return group;
}

paceline_group* paceline_group_join(uint64_t timeout_ms, paceline_place* place,
                                    paceline_error* error) {
  paceline_group* group = nullptr;
  tell(guarded([&]() -> Outcome<void> {
         const auto found = own_place();
         if (!found) return fail(found.error());
         tell(*found, place);
         auto result = joined(*found, timeout_ms);
         if (!result) return fail(std::move(result.error()));
         group = result->release();
         return {};
       }),
       error);
  return group;
}

const char* paceline_group_endpoint(const paceline_group* group) {
  return group->group.links().endpoint().c_str();
}

int paceline_group_connect(paceline_group* group, const char* const* endpoints,
                           paceline_error* error) {
  return tell(guarded([&]() -> Outcome<void> {
                if (group->group.connected()) return bad("The group is connected already.");
                const int size = group->group.links().size();
                std::vector<std::string> texts;
                texts.reserve(static_cast<std::size_t>(size));
                for (int rank = 0; rank < size; ++rank)
                  texts.emplace_back(endpoints[rank] == nullptr ? "" : endpoints[rank]);
                return group->group.connect(texts);
              }),
              error);
}

int paceline_group_meet(paceline_group* group, const char* name, const char* address, uint16_t port,
                        paceline_error* error) {
  return tell(
      guarded([&]() -> Outcome<void> {
        if (group->group.connected()) return bad("The group is connected already.");
        if ((name == nullptr || *name == '\0') && address == nullptr)
          return bad("A meeting needs the name of a socket, or an address and a port.");
        return met(*group, {name == nullptr ? "" : name, address == nullptr ? "" : address, port});
      }),
      error);
}

void paceline_group_abort(paceline_group* group, const char* reason) {
  static_cast<void>(guarded([&]() -> Outcome<void> {
    group->group.abort(reason == nullptr ? "" : reason);
    return {};
  }));
}

void paceline_group_close(paceline_group* group) { delete group; }

int paceline_all_reduce(paceline_group* group, void* data, size_t count, paceline_type type,
                        paceline_op op, paceline_error* error) {
  return run(group, check(*group, data, count, type, op), error, [=](Collectives& collectives) {
    return collectives.all_reduce(bytes(data), {count, type, op});
  });
}

int paceline_all_reduce_many(paceline_group* group, void* const* data, const size_t* counts,
                             size_t tensors, paceline_type type, paceline_op op,
                             paceline_error* error) {
  auto checked = check(*group, data, tensors, type, op);
  for (std::size_t i = 0; checked && i < tensors; ++i)
    checked = check(*group, data[i], counts[i], type, op);
  return run(group, checked, error, [=](Collectives& collectives) {
    std::vector<std::byte*> pointers(tensors);
    std::transform(data, data + tensors, pointers.begin(), [](void* each) { return bytes(each); });
    return collectives.all_reduce_many(pointers, {counts, tensors}, type, op);
  });
}

int paceline_broadcast(paceline_group* group, void* data, size_t size, int root,
                       paceline_error* error) {
  auto checked = check(*group, data, size, PACELINE_UINT8, PACELINE_SUM);
  if (checked) checked = check_rank(*group, root);
  return run(group, checked, error, [=](Collectives& collectives) {
    return collectives.broadcast({bytes(data), size}, root);
  });
}

int paceline_all_gather(paceline_group* group, const void* mine, size_t size, void* all,
                        paceline_error* error) {
  auto checked = check(*group, mine, size, PACELINE_UINT8, PACELINE_SUM);
  if (checked) checked = check(*group, all, size, PACELINE_UINT8, PACELINE_SUM);
  return run(group, checked, error, [=](Collectives& collectives) {
    return collectives.all_gather({bytes(mine), size}, bytes(all));
  });
}

int paceline_reduce_scatter(paceline_group* group, const void* all, void* mine, size_t count,
                            paceline_type type, paceline_op op, paceline_error* error) {
  auto checked = check(*group, all, count, type, op);
  if (checked) checked = check(*group, mine, count, type, op);
  return run(group, checked, error, [=](Collectives& collectives) {
    return collectives.reduce_scatter(bytes(all), bytes(mine), {count, type, op});
  });
}

int paceline_barrier(paceline_group* group, paceline_error* error) {
  return run(group, check(*group, nullptr, 0, PACELINE_UINT8, PACELINE_SUM), error,
             [](Collectives& collectives) { return collectives.barrier(); });
}

int paceline_send(paceline_group* group, const void* data, size_t size, int to,
                  paceline_error* error) {
  auto checked = check(*group, data, size, PACELINE_UINT8, PACELINE_SUM);
  if (checked) checked = check_rank(*group, to);
  if (checked && to == group->group.links().rank())
    checked = bad("A rank sends nothing to itself.");
  return run(group, checked, error, [=](Collectives& collectives) {
    return collectives.send({bytes(data), size}, to);
  });
}

int paceline_receive(paceline_group* group, void* data, size_t size, int from,
                     paceline_error* error) {
  auto checked = check(*group, data, size, PACELINE_UINT8, PACELINE_SUM);
  if (checked) checked = check_rank(*group, from);
  if (checked && from == group->group.links().rank())
    checked = bad("A rank receives nothing from itself.");
  return run(group, checked, error, [=](Collectives& collectives) {
    return collectives.receive({bytes(data), size}, from);
  });
}

uint64_t paceline_all_reduce_start(paceline_group* group, void* data, size_t count,
                                   paceline_type type, paceline_op op, paceline_error* error) {
  std::uint64_t ticket = 0;
  tell(guarded([&]() -> Outcome<void> {
         if (auto checked = check(*group, data, count, type, op); !checked) return checked;
         ticket = group->group.start([=](Collectives& collectives) {
           return collectives.all_reduce(bytes(data), {count, type, op});
         });
         return {};
       }),
       error);
  return ticket;
}

int paceline_wait(paceline_group* group, uint64_t ticket, paceline_error* error) {
  return tell(guarded([&]() -> Outcome<void> {
                auto result = group->group.wait(ticket);
                if (!result)
                  return bad("There is no ticket " + std::to_string(ticket) + " to wait for.");
                return *result;
              }),
              error);
}

paceline_attendant* paceline_attendant_open(paceline_error* error) {
  paceline_attendant* opened = nullptr;
  tell(guarded([&]() -> Outcome<void> {
         const char* const socket = std::getenv("PACELINE_SOCKET");
         auto attendant = Attendant::open(socket == nullptr ? "" : socket);
         if (!attendant) return fail(std::move(attendant.error()));
         opened = new paceline_attendant{std::move(*attendant)};
         return {};
       }),
       error);
  return opened;
}

void paceline_attendant_begin(paceline_attendant* attendant, int asks) {
  attendant->attendant->begin();
  if (asks == 0) return;
  // Without a thread nobody asks, and the training goes on.
  static_cast<void>(guarded([&]() -> Outcome<void> {
    attendant->attendant->ask();
    return {};
  }));
}

int paceline_attendant_notice(const paceline_attendant* attendant) {
  return attendant->attendant->notice();
}

int paceline_attendant_should_stop(const paceline_attendant* attendant) {
  return attendant->attendant->should_stop() ? 1 : 0;
}

int paceline_attendant_hear(paceline_attendant* attendant, paceline_error* error) {
  return tell(guarded([&]() -> Outcome<void> {
                attendant->attendant->hear();
                return {};
              }),
              error);
}

int paceline_attendant_hears(const paceline_attendant* attendant) {
  return attendant->attendant->generations() != nullptr ? 1 : 0;
}

void paceline_attendant_say_ready(paceline_attendant* attendant, uint64_t generation) {
  say(*attendant, "ready", generation);
}

void paceline_attendant_say_stands(paceline_attendant* attendant, uint64_t generation) {
  say(*attendant, "stands", generation);
}

paceline_next paceline_attendant_next(paceline_attendant* attendant, uint64_t generation,
                                      uint64_t timeout_ms, uint64_t* next_generation) {
  auto* const generations = attendant->attendant->generations();
  if (generations == nullptr) return PACELINE_UNHEARD;
  const std::chrono::milliseconds limit(std::min(timeout_ms, kTimeoutMaxMs));
  std::optional<Next> next;
  static_cast<void>(guarded([&]() -> Outcome<void> {
    next = generations->wait_for(generation, limit);
    return {};
  }));
  if (!next) return PACELINE_UNHEARD;
  if (next_generation != nullptr) *next_generation = next->generation;
  return next->environment ? PACELINE_GOES_ON : PACELINE_LEAVES;
}

paceline_group* paceline_attendant_join(paceline_attendant* attendant, uint64_t timeout_ms,
                                        paceline_place* place, paceline_error* error) {
  paceline_group* group = nullptr;
  tell(guarded([&]() -> Outcome<void> {
         auto* const generations = attendant->attendant->generations();
         if (generations == nullptr) return bad("The attendant hears nothing of the gang.");
         const auto found = newest_place(generations->next());
         if (!found) return fail(found.error());
         tell(*found, place);
         auto result = joined(*generations, *found, timeout_ms);
         if (!result) return fail(std::move(result.error()));
         group = result->release();
         return {};
       }),
       error);
  return group;
}

void paceline_attendant_close(paceline_attendant* attendant) { delete attendant; }

}  // extern "C"
