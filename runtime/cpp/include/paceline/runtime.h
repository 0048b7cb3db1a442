/* libpaceline: collectives on host memory for a gang whose members may die, leave and join.
 *
 *   paceline_group* group = paceline_group_open(&options, &error);       one per generation
 *   ... every member learns every member's paceline_group_endpoint() ...
 *   paceline_group_connect(group, endpoints, &error);
 *   paceline_all_reduce(group, data, count, PACELINE_FLOAT32, PACELINE_MEAN, &error);
 *   paceline_group_close(group);
 *
 * Every member calls the same operations in the same order. Nothing hangs: a member that dies, a
 * connection that is cut, a time limit or paceline_group_abort() ends the operation that runs on every
 * member, with the same error, which names the rank at fault. A group that failed stays failed; the
 * next generation is a new group.
 *
 * Results are the same bits on every rank, and the same from run to run for the same number of ranks,
 * sizes, type of machine and library: which algorithm runs is chosen by size and number of ranks, never
 * by time.
 *
 * Functions that return int: 0, or the error's cause. Counts are in elements, sizes in bytes, times in
 * milliseconds. A group may be used from several threads; its operations run one after the other, in
 * the order of the calls.
 */
#ifndef PACELINE_RUNTIME_H
#define PACELINE_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

typedef struct paceline_group paceline_group;

typedef enum paceline_type {
  PACELINE_FLOAT32 = 0,
  PACELINE_FLOAT64 = 1,
  PACELINE_FLOAT16 = 2,
  PACELINE_BFLOAT16 = 3,
  PACELINE_INT8 = 4,
  PACELINE_UINT8 = 5,
  PACELINE_INT32 = 6,
  PACELINE_INT64 = 7
} paceline_type;

/* PACELINE_MEAN of integers rounds towards zero. PACELINE_MIN and PACELINE_MAX of a NaN are NaN. */
typedef enum paceline_op {
  PACELINE_SUM = 0,
  PACELINE_MEAN = 1,
  PACELINE_MIN = 2,
  PACELINE_MAX = 3
} paceline_op;

typedef enum paceline_cause {
  PACELINE_OK = 0,
  PACELINE_BAD_ARGUMENT = 1, /* of this call; the group is as it was */
  PACELINE_TIMED_OUT = 2,    /* members didn't come, or didn't go on, within the limit */
  PACELINE_ABORTED = 3,      /* a member called paceline_group_abort() */
  PACELINE_LOST = 4,         /* a member died, or its connection was cut */
  PACELINE_LEFT = 5,         /* a member closed its group, and is needed */
  PACELINE_MISMATCH = 6,     /* members called different operations */
  PACELINE_REFUSED = 7,      /* whoever answers at an endpoint is no member of this generation */
  PACELINE_SYSTEM = 8        /* this process lacks something: descriptors, memory, an address */
} paceline_cause;

typedef struct paceline_error {
  int cause;         /* a paceline_cause */
  int rank;          /* the rank at fault; -1: none */
  char message[480]; /* one sentence or two, in UTF-8 */
} paceline_error;

typedef struct paceline_group_options {
  int rank; /* 0 .. size - 1 */
  int size; /* up to 1024 */
  uint64_t generation;
  /* Members prove that they know it; it is never sent. At least 16 bytes. */
  const void* secret;
  size_t secret_size;
  /* Where members on other hosts reach this process: an address of one of its interfaces. NULL: all
   * members run on this host. */
  const char* address;
  /* How long an operation may go without any progress; 0: for ever. Only time in which this process
   * ran counts: who was stopped and goes on isn't late. */
  uint64_t timeout_ms;
} paceline_group_options;

/* This process among the ranks of its gang. */
typedef struct paceline_place {
  int rank, size;
  int local_rank; /* among those on this host: the number of its device */
  uint64_t generation;
} paceline_place;

/* NULL: see the error. The secret is copied. */
paceline_group* paceline_group_open(const paceline_group_options* options, paceline_error* error);
/* What the other members need to reach this one: a line of printable text, valid until close. */
const char* paceline_group_endpoint(const paceline_group* group);
/* endpoints: one of each rank, in their order. Returns once all are connected. */
int paceline_group_connect(paceline_group* group, const char* const* endpoints,
                           paceline_error* error);
/* In place of connect: learns every member's endpoint where all meet, and connects. Rank 0 listens there.
 * name: of a unix socket without a file, where all members run on this host; else NULL, and they meet
 * at address, in numbers, and port. timeout_ms limits all of it. */
int paceline_group_meet(paceline_group* group, const char* name, const char* address, uint16_t port,
                        paceline_error* error);
/* The group of the gang that this process's environment names (RANK, WORLD_SIZE, LOCAL_RANK,
 * LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, PACELINE_GENERATION, PACELINE_GANG_SECRET), once all have
 * come. Without them it is a group of one. place: becomes this process's, may be NULL.
 * NULL: see the error. */
paceline_group* paceline_group_join(uint64_t timeout_ms, paceline_place* place,
                                    paceline_error* error);
/* Ends what runs, here and on every member. From any thread; reason: for the error, may be NULL. */
void paceline_group_abort(paceline_group* group, const char* reason);
/* Ends what still runs. Members that don't need this one any more are not disturbed. */
void paceline_group_close(paceline_group* group);

/* data: becomes the sum, mean, least or greatest of what the ranks gave, element by element. */
int paceline_all_reduce(paceline_group* group, void* data, size_t count, paceline_type type,
                        paceline_op op, paceline_error* error);
/* The same for many tensors of one type: small ones travel together. */
int paceline_all_reduce_many(paceline_group* group, void* const* data, const size_t* counts,
                             size_t tensors, paceline_type type, paceline_op op,
                             paceline_error* error);
/* data: becomes what `root` has. */
int paceline_broadcast(paceline_group* group, void* data, size_t size, int root,
                       paceline_error* error);
/* all: `size` bytes of each rank, in their order. Its part of this rank may be `mine` itself. */
int paceline_all_gather(paceline_group* group, const void* mine, size_t size, void* all,
                        paceline_error* error);
/* all: `count` elements for each rank; mine: those for this rank, reduced. */
int paceline_reduce_scatter(paceline_group* group, const void* all, void* mine, size_t count,
                            paceline_type type, paceline_op op, paceline_error* error);
/* Returns once every member has called it. */
int paceline_barrier(paceline_group* group, paceline_error* error);
/* From one rank to another, which calls receive with the same size. */
int paceline_send(paceline_group* group, const void* data, size_t size, int to,
                  paceline_error* error);
int paceline_receive(paceline_group* group, void* data, size_t size, int from,
                     paceline_error* error);

/* all_reduce on a thread of the group's own. Each ticket is waited for exactly once; the data are the
 * group's until then. 0: refused, see the error. */
uint64_t paceline_all_reduce_start(paceline_group* group, void* data, size_t count,
                                   paceline_type type, paceline_op op, paceline_error* error);
int paceline_wait(paceline_group* group, uint64_t ticket, paceline_error* error);

/* Beside a training: takes SIGTERM, by which Paceline asks a worker to make room, and asks over the
 * worker socket ($PACELINE_SOCKET) whether to stop. One at a time in a process; until
 * paceline_attendant_begin() SIGTERM ends it with exit code 75, start me again: there is nothing to
 * save. NULL: see the error. */
typedef struct paceline_attendant paceline_attendant;
paceline_attendant* paceline_attendant_open(paceline_error* error);
/* The training begins: SIGTERM is only noted. asks: not 0 on the one rank that asks for all. */
void paceline_attendant_begin(paceline_attendant* attendant, int asks);
/* The signal that asks this worker to make room; 0: none has come. */
int paceline_attendant_notice(const paceline_attendant* attendant);
/* 1: Paceline says that the model is good enough. Only where it is asked. */
int paceline_attendant_should_stop(const paceline_attendant* attendant);

/* From now on hears over the worker socket what becomes of this worker's gang: for programs that can go
 * on in place, where $PACELINE_RESIZE is in-place. Without a worker socket it does nothing. Others of the
 * gang wait for a process that hears: one that a signal stopped for 1.5 s is ended by its agent. */
int paceline_attendant_hear(paceline_attendant* attendant, paceline_error* error);
/* 1: it hears. */
int paceline_attendant_hears(const paceline_attendant* attendant);
/* This worker, which was started with PACELINE_JOINS=1, can join that generation; it has met all ranks of
 * that one, and can go on in place. Said again where Paceline doesn't know it any more; not at all where
 * it doesn't hear. */
void paceline_attendant_say_ready(paceline_attendant* attendant, uint64_t generation);
void paceline_attendant_say_stands(paceline_attendant* attendant, uint64_t generation);
typedef enum paceline_next {
  PACELINE_UNHEARD = 0, /* nothing was heard of it */
  PACELINE_GOES_ON = 1, /* this worker has a place in it */
  PACELINE_LEAVES = 2   /* the gang goes on without this worker */
} paceline_next;
/* What becomes of this worker in that generation, or in the newest after it. Waits for at most so long;
 * with 0 it only looks. next_generation: which one it is, may be NULL. */
paceline_next paceline_attendant_next(paceline_attendant* attendant, uint64_t generation,
                                      uint64_t timeout_ms, uint64_t* next_generation);
/* The group of the newest generation that was heard of, else of the one that the environment names, once
 * all have come. PACELINE_LEFT: meanwhile it was heard that it won't come about, or this worker leaves.
 * place: becomes this process's, may be NULL. NULL: see the error. */
paceline_group* paceline_attendant_join(paceline_attendant* attendant, uint64_t timeout_ms,
                                        paceline_place* place, paceline_error* error);
void paceline_attendant_close(paceline_attendant* attendant);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
