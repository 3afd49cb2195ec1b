/* platform.h on Linux, where the shim is built for tests. */
#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void platform_take(platform_lock *lock) { pthread_mutex_lock(lock); }

void platform_release(platform_lock *lock) { pthread_mutex_unlock(lock); }

void platform_wait(platform_condition *condition, platform_lock *lock, uint32_t milliseconds) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  uint64_t nanoseconds = (uint64_t)until.tv_nsec + (uint64_t)(milliseconds % 1000) * 1000000;
  until.tv_sec += (time_t)(milliseconds / 1000 + nanoseconds / 1000000000);
  until.tv_nsec = (long)(nanoseconds % 1000000000);
  pthread_cond_timedwait(condition, lock, &until);
}

void platform_signal_all(platform_condition *condition) { pthread_cond_broadcast(condition); }

uint64_t platform_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t platform_thread_id(void) { return (uint64_t)pthread_self(); }

typedef struct {
  void (*run)(void *);
  void *argument;
} thread_start;

static void *thread_main(void *given) {
  thread_start start = *(thread_start *)given;
  free(given);
  start.run(start.argument);
  return NULL;
}

/* The library is linked with `-z nodelete`, so that it stays. */
bool platform_start_thread(void (*run)(void *), void *argument) {
  pthread_t thread;
  thread_start *start = malloc(sizeof *start);
  if (start == NULL) return false;
  *start = (thread_start){run, argument};
  if (pthread_create(&thread, NULL, thread_main, start) != 0) {
    free(start);
    return false;
  }
  pthread_detach(thread);
  return true;
}

bool platform_variable(const char *name, char *value, size_t size) {
  const char *found = getenv(name);
  if (found == NULL || *found == 0 || strlen(found) >= size) return false;
  strcpy(value, found);
  return true;
}

long platform_read_file(const char *path, char *bytes, size_t size) {
  FILE *file = fopen(path, "rbe");
  if (file == NULL) return -1;
  size_t length = fread(bytes, 1, size, file);
  fclose(file);
  return (long)length;
}

/* mincore tells of pages that are not there; one that is there and may not be read is not noticed. */
size_t platform_readable(const void *address, size_t most) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t start = (uintptr_t)address;
  uintptr_t at = start & ~(page - 1);
  unsigned char resident;
  while (at < start + most && mincore((void *)at, 1, &resident) == 0) at += page;
  if (at <= start) return 0;
  size_t length = at - start;
  return length < most ? length : most;
}

void *platform_task_alloc(size_t size) { return malloc(size); }

void platform_task_free(void *memory) { free(memory); }

static bool wait_for(platform_socket socket, short events, uint64_t deadline) {
  for (;;) {
    uint64_t now = platform_now();
    struct pollfd wanted = {.fd = socket, .events = events};
    int ready = poll(&wanted, 1, deadline > now ? (int)(deadline - now) : 0);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

platform_socket platform_connect(bool is_ipv6, uint16_t port, uint64_t deadline) {
  int made = socket(is_ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return PLATFORM_NO_SOCKET;
  int no_delay = 1;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof no_delay);
  struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  const struct sockaddr *address = is_ipv6 ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4;
  int failure = 0;
  socklen_t size = sizeof failure;
  if (connect(made, address, is_ipv6 ? sizeof v6 : sizeof v4) == 0) return made;
  if (errno == EINPROGRESS && wait_for(made, POLLOUT, deadline) &&
      getsockopt(made, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure == 0) {
    return made;
  }
  close(made);
  return PLATFORM_NO_SOCKET;
}

bool platform_send(platform_socket socket, const char *bytes, size_t length, uint64_t deadline) {
  while (length > 0) {
    ssize_t sent = send(socket, bytes, length, MSG_NOSIGNAL);
    if (sent > 0) {
      bytes += sent;
      length -= (size_t)sent;
    } else if (errno == EAGAIN ? !wait_for(socket, POLLOUT, deadline) : errno != EINTR) {
      return false;
    }
  }
  return true;
}

long platform_receive(platform_socket socket, char *bytes, size_t size, uint64_t deadline) {
  for (;;) {
    ssize_t came = recv(socket, bytes, size, 0);
    if (came >= 0) return came;
    if (errno != EAGAIN && errno != EINTR) return -1;
    if (errno == EAGAIN && !wait_for(socket, POLLIN, deadline)) return PLATFORM_TIMED_OUT;
  }
}

bool platform_is_quiet(platform_socket socket) {
  char byte;
  return recv(socket, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

void platform_shut(platform_socket socket) { shutdown(socket, SHUT_RDWR); }

void platform_close(platform_socket socket) { close(socket); }
