/* What differs between Windows and Linux: locks, threads, time, sockets, memory that changes hands. */
#ifndef MULLION_PLATFORM_H
#define MULLION_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#include <winsock2.h>
#include <windows.h>
typedef SRWLOCK platform_lock;
typedef CONDITION_VARIABLE platform_condition;
typedef SOCKET platform_socket;
#define PLATFORM_LOCK_INIT SRWLOCK_INIT
#define PLATFORM_CONDITION_INIT CONDITION_VARIABLE_INIT
#define PLATFORM_NO_SOCKET INVALID_SOCKET
#else
#include <pthread.h>
typedef pthread_mutex_t platform_lock;
typedef pthread_cond_t platform_condition;
typedef int platform_socket;
#define PLATFORM_LOCK_INIT PTHREAD_MUTEX_INITIALIZER
#define PLATFORM_CONDITION_INIT PTHREAD_COND_INITIALIZER
#define PLATFORM_NO_SOCKET (-1)
#endif

void platform_take(platform_lock *lock);
void platform_release(platform_lock *lock);
/* Waits for a signal, at most so long; may also return without one. */
void platform_wait(platform_condition *condition, platform_lock *lock, uint32_t milliseconds);
void platform_signal_all(platform_condition *condition);

/* Milliseconds since some moment; never goes back. */
uint64_t platform_now(void);
uint64_t platform_thread_id(void);
/* Runs `run(argument)` on a thread of its own. From then on the library stays loaded until the process ends: a thread
 * whose code is gone would take the program with it. */
bool platform_start_thread(void (*run)(void *), void *argument);

/* Copies an environment variable; false when it is unset, empty or does not fit. */
bool platform_variable(const char *name, char *value, size_t size);
/* Reads a small file; the number of bytes, or -1. */
long platform_read_file(const char *path, char *bytes, size_t size);

/* How many bytes from `address` on may be read, at most `most`. */
size_t platform_readable(const void *address, size_t most);

/* Memory that the caller gives back: CoTaskMemAlloc and CoTaskMemFree on Windows, malloc and free on Linux. */
void *platform_task_alloc(size_t size);
void platform_task_free(void *memory);

/* Connects to a port of this machine. `deadline` is in the time of `platform_now`, here and below. */
platform_socket platform_connect(bool is_ipv6, uint16_t port, uint64_t deadline);
bool platform_send(platform_socket socket, const char *bytes, size_t length, uint64_t deadline);
#define PLATFORM_TIMED_OUT (-2)
/* The number of bytes that came, 0 at the end of the stream, -1 when it broke, or PLATFORM_TIMED_OUT. */
long platform_receive(platform_socket socket, char *bytes, size_t size, uint64_t deadline);
/* True when a connection that lies idle is still good: nothing has come, no end either. */
bool platform_is_quiet(platform_socket socket);
/* Ends the connection, before it is closed. On Linux this wakes up who waits for it, on Windows not always. */
void platform_shut(platform_socket socket);
void platform_close(platform_socket socket);

#endif
