/* A system that is made up: time passes when somebody waits, and a peer says what it is told to say. */
#include "../core/platform.h"
#include "fuzz.h"

#include <string.h>

static uint64_t now = 1000;
static const text_buffer *said;
static peer_end ending;
static size_t said_length;
static int connections;

void peer_answers(const text_buffer *bytes, peer_end end) {
  said = bytes;
  ending = end;
  said_length = 0;
}

int open_connections(void) { return connections; }

uint64_t platform_now(void) { return now; }
uint64_t platform_thread_id(void) { return 1; }
void platform_take(platform_lock *lock) { (void)lock; }
void platform_release(platform_lock *lock) { (void)lock; }
void platform_signal_all(platform_condition *condition) { (void)condition; }
void platform_wait(platform_condition *condition, platform_lock *lock, uint32_t milliseconds) {
  (void)condition, (void)lock;
  now += milliseconds;
}

bool platform_variable(const char *name, char *value, size_t size) {
  const char *found = strcmp(name, "MULLION_HNS") == 0          ? "http://127.0.0.1:4711"
                      : strcmp(name, "MULLION_HNS_TOKEN") == 0 ? "token"
                                                               : NULL;
  if (found == NULL || strlen(found) >= size) return false;
  strcpy(value, found);
  return true;
}

long platform_read_file(const char *path, char *bytes, size_t size) {
  (void)path, (void)bytes, (void)size;
  return -1;
}

size_t platform_readable(const void *address, size_t most) {
  (void)address;
  return most;
}

void *platform_task_alloc(size_t size) { return malloc(size); }
void platform_task_free(void *memory) { free(memory); }

platform_socket platform_connect(bool is_ipv6, uint16_t port, uint64_t deadline) {
  (void)is_ipv6, (void)port, (void)deadline;
  connections++;
  return 1;
}

bool platform_send(platform_socket socket, const char *bytes, size_t length, uint64_t deadline) {
  (void)socket, (void)deadline;
  /* Each byte is read, so that a request of no memory is noticed. */
  return memchr(bytes, '\n', length) != NULL;
}

long platform_receive(platform_socket socket, char *bytes, size_t size, uint64_t deadline) {
  (void)socket;
  size_t left = said->length - said_length;
  if (left > 0) {
    size_t most = left < size ? left : size;
    size_t length = pick(2) == 0 ? most : 1 + pick((uint32_t)most);
    memcpy(bytes, said->data + said_length, length);
    said_length += length;
    return (long)length;
  }
  if (ending == PEER_CLOSES) return 0;
  if (ending == PEER_BREAKS_OFF) return -1;
  if (now < deadline) now = deadline;
  return PLATFORM_TIMED_OUT;
}

bool platform_is_quiet(platform_socket socket) {
  (void)socket;
  return pick(2) == 0;
}

void platform_shut(platform_socket socket) { (void)socket; }

void platform_close(platform_socket socket) {
  (void)socket;
  if (--connections < 0) FAIL("a connection is closed twice");
}
