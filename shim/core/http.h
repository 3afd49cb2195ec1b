/* HTTP/1.1 to a service on this machine: calls over kept connections, and streams of lines. */
#ifndef MULLION_HTTP_H
#define MULLION_HTTP_H

#include "platform.h"
#include "text.h"

#include <stdatomic.h>

typedef struct {
  bool is_ipv6;
  uint16_t port;
  /* Empty, or what `Authorization: Bearer` takes. */
  char token[512];
} http_address;

typedef struct {
  platform_socket socket;
  char bytes[8192];
  size_t next;
  size_t count;
  /* Of the answer's body: what is left of it, or of its present chunk. */
  uint64_t left;
  bool is_chunked;
  /* A chunk was begun, so that what follows its bytes is the end of its line. */
  bool has_chunk;
  bool is_kept;
  bool is_ended;
  /* Set by another thread: reading ends within HTTP_CANCEL_MS. */
  atomic_bool is_cancelled;
} http_connection;

#define HTTP_CANCEL_MS 200

/* What the service speaks (HTTP_VERSION of src/contracts/hcn/http/http-protocol.ts): each request and each answer names it. */
#define HTTP_VERSION "1"
/* Instead of a status: who answers names another version, or none. */
#define HTTP_OTHER_VERSION (-2)

/* POST with a JSON body. The status, or HTTP_OTHER_VERSION; 0 when nobody listens, -1 when the connection broke, what
 * came was no answer, or the time was over. */
int http_post(const http_address *address, const char *path, const text_buffer *body, uint64_t deadline,
              text_buffer *answer);

/* Opens a stream; its status as above. With 200 the connection is open and has to be closed by the caller. */
int http_open_stream(const http_address *address, const char *path, uint64_t deadline, http_connection *stream);
/* Reads the next line without its end; false when the stream ended, broke, or was silent until the deadline. */
bool http_read_line(http_connection *stream, uint64_t deadline, text_buffer *line);

#endif
