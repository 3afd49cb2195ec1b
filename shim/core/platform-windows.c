/* platform.h on Windows (and Wine). */
#include "platform.h"

#include <objbase.h>
#include <stdio.h>
#include <stdlib.h>
#include <ws2tcpip.h>

void platform_take(platform_lock *lock) { AcquireSRWLockExclusive(lock); }

void platform_release(platform_lock *lock) { ReleaseSRWLockExclusive(lock); }

void platform_wait(platform_condition *condition, platform_lock *lock, uint32_t milliseconds) {
  SleepConditionVariableSRW(condition, lock, milliseconds, 0);
}

void platform_signal_all(platform_condition *condition) { WakeAllConditionVariable(condition); }

uint64_t platform_now(void) { return GetTickCount64(); }

uint64_t platform_thread_id(void) { return GetCurrentThreadId(); }

typedef struct {
  void (*run)(void *);
  void *argument;
} thread_start;

static DWORD WINAPI thread_main(LPVOID given) {
  thread_start start = *(thread_start *)given;
  free(given);
  start.run(start.argument);
  return 0;
}

bool platform_start_thread(void (*run)(void *), void *argument) {
  static const char anchor;
  HMODULE self;
  DWORD pin = GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
  if (!GetModuleHandleExA(pin, &anchor, &self)) return false;
  thread_start *start = malloc(sizeof *start);
  if (start == NULL) return false;
  *start = (thread_start){run, argument};
  HANDLE thread = CreateThread(NULL, 0, thread_main, start, 0, NULL);
  if (thread == NULL) {
    free(start);
    return false;
  }
  CloseHandle(thread);
  return true;
}

bool platform_variable(const char *name, char *value, size_t size) {
  /* Not getenv: its copy does not see what the program set later through the system, as Go does. */
  DWORD length = GetEnvironmentVariableA(name, value, (DWORD)size);
  return length > 0 && length < size;
}

long platform_read_file(const char *path, char *bytes, size_t size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return -1;
  size_t length = fread(bytes, 1, size, file);
  fclose(file);
  return (long)length;
}

size_t platform_readable(const void *address, size_t most) {
  const DWORD readable = PAGE_READONLY | PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE |
                         PAGE_EXECUTE_WRITECOPY;
  const char *start = address;
  const char *at = start;
  while ((size_t)(at - start) < most) {
    MEMORY_BASIC_INFORMATION region;
    if (VirtualQuery(at, &region, sizeof region) == 0 || region.State != MEM_COMMIT) break;
    if ((region.Protect & readable) == 0 || (region.Protect & PAGE_GUARD) != 0) break;
    at = (const char *)region.BaseAddress + region.RegionSize;
  }
  size_t length = (size_t)(at - start);
  return length < most ? length : most;
}

void *platform_task_alloc(size_t size) { return CoTaskMemAlloc(size); }

void platform_task_free(void *memory) { CoTaskMemFree(memory); }

static BOOL CALLBACK start_winsock(PINIT_ONCE once, PVOID parameter, PVOID *context) {
  WSADATA data;
  (void)once, (void)parameter, (void)context;
  return WSAStartup(MAKEWORD(2, 2), &data) == 0;
}

/* select, not WSAPoll, which before Windows 10 2004 does not tell of a refused connection. */
static bool wait_for(platform_socket socket, bool for_write, uint64_t deadline) {
  uint64_t now = platform_now();
  uint64_t left = deadline > now ? deadline - now : 0;
  struct timeval time = {(long)(left / 1000), (long)(left % 1000) * 1000};
  fd_set wanted, broken;
  FD_ZERO(&wanted);
  FD_ZERO(&broken);
  FD_SET(socket, &wanted);
  FD_SET(socket, &broken);
  int ready = select(0, for_write ? NULL : &wanted, for_write ? &wanted : NULL, &broken, &time);
  return ready > 0 && FD_ISSET(socket, &wanted);
}

platform_socket platform_connect(bool is_ipv6, uint16_t port, uint64_t deadline) {
  static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
  if (!InitOnceExecuteOnce(&once, start_winsock, NULL, NULL)) return PLATFORM_NO_SOCKET;
  /* No other process gets the connection: handles of sockets are inherited unless one says so. */
  SOCKET made = WSASocketW(is_ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM, IPPROTO_TCP, NULL, 0,
                           WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
  if (made == INVALID_SOCKET) return PLATFORM_NO_SOCKET;
  u_long yes = 1;
  int no_delay = 1;
  ioctlsocket(made, (long)FIONBIO, &yes);
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, (const char *)&no_delay, sizeof no_delay);
  struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  v6.sin6_addr.s6_addr[15] = 1;
  const struct sockaddr *address = is_ipv6 ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4;
  int connected = connect(made, address, is_ipv6 ? (int)sizeof v6 : (int)sizeof v4);
  if (connected == 0) return made;
  if (WSAGetLastError() == WSAEWOULDBLOCK && wait_for(made, true, deadline)) return made;
  closesocket(made);
  return PLATFORM_NO_SOCKET;
}

bool platform_send(platform_socket socket, const char *bytes, size_t length, uint64_t deadline) {
  while (length > 0) {
    int part = length < 65536 ? (int)length : 65536;
    int sent = send(socket, bytes, part, 0);
    if (sent > 0) {
      bytes += sent;
      length -= (size_t)sent;
    } else if (WSAGetLastError() != WSAEWOULDBLOCK || !wait_for(socket, true, deadline)) {
      return false;
    }
  }
  return true;
}

long platform_receive(platform_socket socket, char *bytes, size_t size, uint64_t deadline) {
  for (;;) {
    int came = recv(socket, bytes, (int)size, 0);
    if (came >= 0) return came;
    if (WSAGetLastError() != WSAEWOULDBLOCK) return -1;
    if (!wait_for(socket, false, deadline)) return PLATFORM_TIMED_OUT;
  }
}

bool platform_is_quiet(platform_socket socket) {
  char byte;
  return recv(socket, &byte, 1, MSG_PEEK) < 0 && WSAGetLastError() == WSAEWOULDBLOCK;
}

void platform_shut(platform_socket socket) { shutdown(socket, SD_BOTH); }

void platform_close(platform_socket socket) { closesocket(socket); }
