/*
 * What runs in containers of the live tests.
 *   answer serve PORT NAME    tells who connects NAME and its own address
 *   answer ask ADDRESS PORT   prints what is told there
 *   answer, answer wait       does nothing, for as long as it may
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 5, TEXT_BYTES = 256 };

static struct sockaddr_in address_of(const char *ip, const char *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
  if (inet_pton(AF_INET, ip, &address.sin_addr) != 1) exit(2);
  return address;
}

static int serve(const char *port, const char *name) {
  struct sockaddr_in address = address_of("0.0.0.0", port);
  int server = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(server, (struct sockaddr *)&address, sizeof address) != 0 || listen(server, 16) != 0) return 1;
  for (;;) {
    struct sockaddr_in peer;
    socklen_t length = sizeof peer;
    int client = accept(server, (struct sockaddr *)&peer, &length);
    if (client < 0) continue;
    char text[TEXT_BYTES], from[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &peer.sin_addr, from, sizeof from);
    int count = snprintf(text, sizeof text, "%s %s\n", name, from);
    (void)!write(client, text, count);
    close(client);
  }
}

static int ask(const char *ip, const char *port) {
  struct sockaddr_in address = address_of(ip, port);
  int client = socket(AF_INET, SOCK_STREAM, 0);
  alarm(PATIENCE_SECONDS);
  if (connect(client, (struct sockaddr *)&address, sizeof address) != 0) return 1;
  char text[TEXT_BYTES];
  ssize_t count, sum = 0;
  while ((count = read(client, text, sizeof text)) > 0) sum += write(STDOUT_FILENO, text, count);
  return sum > 0 ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[1], "serve") == 0) return serve(argv[2], argv[3]);
  if (argc == 4 && strcmp(argv[1], "ask") == 0) return ask(argv[2], argv[3]);
  for (;;) pause();
}
