/*
 * New connections, one after another by several processes: each is opened, gives one byte, and is gone.
 *   connections serve PORT
 *   connections call ADDRESS PORT SECONDS     prints how many there were
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SERVERS = 4, CALLERS = 16, BACKLOG = 1024 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static struct sockaddr_in address_of(const char *ip, const char *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
  if (inet_pton(AF_INET, ip, &address.sin_addr) != 1) exit(2);
  return address;
}

static void serve(const char *port) {
  int one = 1, server = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = address_of("0.0.0.0", port);
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(server, (struct sockaddr *)&address, sizeof address) != 0 || listen(server, BACKLOG) != 0) exit(1);
  for (int i = 1; i < SERVERS; i++)
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      break;
    }
  for (;;) {
    int client = accept(server, NULL, NULL);
    if (client < 0) continue;
    (void)!write(client, "x", 1);
    close(client);
  }
}

static long call(struct sockaddr_in address, double until) {
  /* The caller forgets a connection at once (RST), so that its ports suffice. */
  struct linger forget = {1, 0};
  struct timeval patience = {1, 0};
  long count = 0;
  while (seconds() < until) {
    char byte;
    int caller = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(caller, SOL_SOCKET, SO_LINGER, &forget, sizeof forget);
    setsockopt(caller, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(caller, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(caller, (struct sockaddr *)&address, sizeof address) == 0 && read(caller, &byte, 1) == 1) count++;
    close(caller);
  }
  return count;
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "serve") == 0) serve(argv[2]);
  if (argc != 5 || strcmp(argv[1], "call") != 0) return 2;
  struct sockaddr_in address = address_of(argv[2], argv[3]);
  double until = seconds() + atof(argv[4]);
  int pipes[2];
  if (pipe(pipes) != 0) return 1;
  for (int i = 0; i < CALLERS; i++)
    if (fork() == 0) {
      long count = call(address, until);
      _exit(write(pipes[1], &count, sizeof count) == sizeof count ? 0 : 1);
    }
  long sum = 0, count;
  for (int i = 0; i < CALLERS; i++)
    if (read(pipes[0], &count, sizeof count) == sizeof count) sum += count;
  while (wait(NULL) > 0) continue;
  printf("%ld\n", sum);
  return 0;
}
