// System calls of Linux, without a C library: the launcher is a few kilobytes, and starts nothing but itself.
// A call returns what the kernel returns; -ERRNO says what went wrong.
#ifndef MULLION_SYSTEM_H
#define MULLION_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)

enum { CALL_READ = 0, CALL_WRITE = 1, CALL_CLOSE = 3, CALL_POLL = 271, CALL_LSEEK = 8, CALL_PREAD = 17,
       CALL_SOCKET = 41, CALL_CONNECT = 42, CALL_SETSOCKOPT = 54, CALL_GETSOCKOPT = 55, CALL_EXECVE = 59,
       CALL_GETCWD = 79, CALL_GETUID = 102, CALL_EXIT = 231, CALL_OPENAT = 257, CALL_READLINKAT = 267,
       CALL_DUP3 = 292, CALL_MEMFD_CREATE = 319, CALL_SIGACTION = 13 };

static inline long system_call(long number, long a, long b, long c, long d, long e) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}

// The stack begins with the count of arguments.
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");

#elif defined(__aarch64__)

enum { CALL_READ = 63, CALL_WRITE = 64, CALL_CLOSE = 57, CALL_POLL = 73, CALL_LSEEK = 62, CALL_PREAD = 67,
       CALL_SOCKET = 198, CALL_CONNECT = 203, CALL_SETSOCKOPT = 208, CALL_GETSOCKOPT = 209, CALL_EXECVE = 221,
       CALL_GETCWD = 17, CALL_GETUID = 174, CALL_EXIT = 94, CALL_OPENAT = 56, CALL_READLINKAT = 78,
       CALL_DUP3 = 24, CALL_MEMFD_CREATE = 279, CALL_SIGACTION = 134 };

static inline long system_call(long number, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}

__asm__(".globl _start\n_start:\n\tmov x29, xzr\n\tmov x0, sp\n\tbl begin\n");

#else
#error "The launcher knows x64 and arm64."
#endif

enum { ERROR_INTR = 4, ERROR_IO = 5, ERROR_BADF = 9, ERROR_AGAIN = 11, ERROR_NOSPC = 28, ERROR_PIPE = 32 };

#endif
