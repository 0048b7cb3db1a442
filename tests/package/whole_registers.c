// For user-mode Linux on processors with AMX: Debian 12's knows 2696 bytes of extended registers, and Linux refuses to set fewer than
// the processor has. This library, preloaded, adds the rest as it is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef long (*Ptrace)(enum __ptrace_request request, ...);

long ptrace(enum __ptrace_request request, ...) {
  static Ptrace next;
  static char registers[1 << 16];
  if (next == NULL) next = (Ptrace)dlsym(RTLD_NEXT, "ptrace");
  va_list arguments;
  va_start(arguments, request);
  const pid_t process = va_arg(arguments, pid_t);
  void* const kind = va_arg(arguments, void*);
  void* const data = va_arg(arguments, void*);
  va_end(arguments);
  if (request != PTRACE_SETREGSET || kind != (void*)NT_X86_XSTATE)
    return next(request, process, kind, data);
  const struct iovec* const known = data;
  struct iovec whole = {registers, sizeof registers};
  const long got = next(PTRACE_GETREGSET, process, kind, &whole);
  if (got < 0) return got;
  memcpy(registers, known->iov_base,
         known->iov_len < whole.iov_len ? known->iov_len : whole.iov_len);
  return next(PTRACE_SETREGSET, process, kind, &whole);
}
