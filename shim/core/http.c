#include "http.h"

#include <string.h>

#define HEADER_MAX 16384
#define ANSWER_MAX ((size_t)64 << 20)
#define LINE_MAX_BYTES ((size_t)4 << 20)
#define CONNECT_MS 5000
/* Fewer than the daemon takes (256), so that one program does not keep others out. */
#define CONNECTIONS_MAX 32
#define IDLE_MAX 4
/* The daemon closes what lies idle for 5 s; a connection that is let go earlier never breaks under a request. */
#define IDLE_MS 2000

typedef struct {
  platform_socket socket;
  bool is_ipv6;
  uint16_t port;
  uint64_t since;
} idle_connection;

static platform_lock pool_lock = PLATFORM_LOCK_INIT;
static platform_condition pool_changed = PLATFORM_CONDITION_INIT;
static idle_connection idle[IDLE_MAX];
static size_t idle_count;
static size_t used_count;

/* Waits until fewer than CONNECTIONS_MAX calls run. */
static bool enter_pool(uint64_t deadline) {
  platform_take(&pool_lock);
  uint64_t now = platform_now();
  while (used_count >= CONNECTIONS_MAX && now < deadline) {
    platform_wait(&pool_changed, &pool_lock, (uint32_t)(deadline - now));
    now = platform_now();
  }
  bool is_in = used_count < CONNECTIONS_MAX;
  if (is_in) used_count++;
  platform_release(&pool_lock);
  return is_in;
}

static platform_socket take_idle(const http_address *address) {
  platform_socket found = PLATFORM_NO_SOCKET;
  platform_take(&pool_lock);
  while (idle_count > 0 && found == PLATFORM_NO_SOCKET) {
    idle_connection last = idle[--idle_count];
    bool is_same = last.port == address->port && last.is_ipv6 == address->is_ipv6;
    if (is_same && platform_now() - last.since < IDLE_MS && platform_is_quiet(last.socket)) {
      found = last.socket;
    } else {
      platform_close(last.socket);
    }
  }
  platform_release(&pool_lock);
  return found;
}

static void leave_pool(const http_address *address, platform_socket socket, bool is_reusable) {
  platform_take(&pool_lock);
  used_count--;
  bool is_kept = is_reusable && idle_count < IDLE_MAX;
  if (is_kept) idle[idle_count++] = (idle_connection){socket, address->is_ipv6, address->port, platform_now()};
  platform_signal_all(&pool_changed);
  platform_release(&pool_lock);
  if (!is_kept && socket != PLATFORM_NO_SOCKET) platform_close(socket);
}

static platform_socket connect_to(const http_address *address, uint64_t deadline) {
  uint64_t soon = platform_now() + CONNECT_MS;
  return platform_connect(address->is_ipv6, address->port, soon < deadline ? soon : deadline);
}

static bool send_request(platform_socket socket, const http_address *address, const char *method, const char *path,
                         const text_buffer *body, uint64_t deadline) {
  text_buffer request = {0};
  /* A length is written with 32 bits; with less than the body has, its end would be read as another request. */
  if (body != NULL && body->length > UINT32_MAX) return false;
  text_add_string(&request, method);
  text_add_string(&request, " ");
  text_add_string(&request, path);
  text_add_string(&request, " HTTP/1.1\r\nHost: 127.0.0.1\r\nMullion-Hns-Version: " HTTP_VERSION "\r\n");
  if (address->token[0] != 0) {
    text_add_string(&request, "Authorization: Bearer ");
    text_add_string(&request, address->token);
    text_add_string(&request, "\r\n");
  }
  if (body != NULL) {
    text_add_string(&request, "Content-Type: application/json\r\nContent-Length: ");
    text_add_number(&request, (uint32_t)body->length);
    text_add_string(&request, "\r\n\r\n");
    text_add(&request, body->data, body->length);
  } else {
    text_add_string(&request, "\r\n");
  }
  bool is_sent = !request.is_broken && platform_send(socket, request.data, request.length, deadline);
  text_free(&request);
  return is_sent;
}

static bool fill(http_connection *from, uint64_t deadline) {
  if (from->next < from->count) return true;
  long came = PLATFORM_TIMED_OUT;
  for (uint64_t now = platform_now(); came == PLATFORM_TIMED_OUT && now < deadline; now = platform_now()) {
    uint64_t until = deadline - now > HTTP_CANCEL_MS ? now + HTTP_CANCEL_MS : deadline;
    came = platform_receive(from->socket, from->bytes, sizeof from->bytes, until);
    if (atomic_load(&from->is_cancelled)) return false;
  }
  if (came <= 0) return false;
  from->next = 0;
  from->count = (size_t)came;
  return true;
}

/* A line of the protocol, without its end. */
static bool read_header_line(http_connection *from, char *line, size_t size, uint64_t deadline) {
  size_t length = 0;
  while (fill(from, deadline)) {
    char c = from->bytes[from->next++];
    if (c == '\n') {
      if (length > 0 && line[length - 1] == '\r') length--;
      line[length] = 0;
      return true;
    }
    if (length + 1 >= size) return false;
    line[length++] = c;
  }
  return false;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* The value when the line is this header; `name` is in small letters. */
static const char *header_value(const char *line, const char *name) {
  while (*name != 0 && lower(*line) == *name) line++, name++;
  if (*name != 0 || *line++ != ':') return NULL;
  while (*line == ' ' || *line == '\t') line++;
  return line;
}

static bool parse_number(const char *text, unsigned base, uint64_t *number) {
  uint64_t sum = 0;
  const char *at = text;
  for (; *at != 0 && *at != ';' && *at != ' '; at++) {
    char c = lower(*at);
    unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 99;
    if (digit >= base || sum > (UINT64_MAX >> 8)) return false;
    sum = sum * base + digit;
  }
  *number = sum;
  return at != text;
}

/* Status line and headers; the status, HTTP_OTHER_VERSION, or -1. */
static int read_head(http_connection *from, uint64_t deadline) {
  char line[2048];
  size_t total = 0;
  uint64_t status;
  bool has_length = false;
  bool is_of_version = false;
  if (!read_header_line(from, line, sizeof line, deadline)) return -1;
  if (strncmp(line, "HTTP/1.1 ", 9) != 0 || !parse_number(line + 9, 10, &status) || status > 999) return -1;
  from->is_kept = true;
  while (read_header_line(from, line, sizeof line, deadline)) {
    if (line[0] == 0) {
      if (!is_of_version) return HTTP_OTHER_VERSION;
      from->is_ended = !from->is_chunked && has_length && from->left == 0;
      /* Without a length the body ends with the connection. */
      if (!from->is_chunked && !has_length) from->left = UINT64_MAX, from->is_kept = false;
      return (int)status;
    }
    if ((total += strlen(line)) > HEADER_MAX) return -1;
    const char *value;
    if ((value = header_value(line, "content-length")) != NULL) {
      if (!parse_number(value, 10, &from->left)) return -1;
      has_length = true;
    } else if ((value = header_value(line, "transfer-encoding")) != NULL) {
      if (strcmp(value, "chunked") != 0) return -1;
      from->is_chunked = true;
    } else if ((value = header_value(line, "mullion-hns-version")) != NULL) {
      is_of_version = strcmp(value, HTTP_VERSION) == 0;
    } else if ((value = header_value(line, "connection")) != NULL && lower(*value) == 'c') {
      from->is_kept = false;
    }
  }
  return -1;
}

/* Goes to the next chunk when the present one is used up. False at the end of the body, and when it broke. */
static bool has_body(http_connection *from, uint64_t deadline) {
  char line[256];
  if (from->is_ended) return false;
  if (from->left > 0) return fill(from, deadline);
  if (!from->is_chunked) return from->is_ended = true, false;
  if (from->has_chunk && !(read_header_line(from, line, sizeof line, deadline) && line[0] == 0)) return false;
  if (!read_header_line(from, line, sizeof line, deadline) || !parse_number(line, 16, &from->left)) return false;
  from->has_chunk = true;
  if (from->left > 0) return fill(from, deadline);
  from->is_ended = read_header_line(from, line, sizeof line, deadline) && line[0] == 0;
  return false;
}

/* What is there of the body, at most up to its next border. */
static text_slice peek_body(const http_connection *from) {
  size_t have = from->count - from->next;
  return (text_slice){from->bytes + from->next, have < from->left ? have : (size_t)from->left};
}

static void use_body(http_connection *from, size_t length) {
  from->next += length;
  if (from->left != UINT64_MAX) from->left -= length;
}

static bool read_body(http_connection *from, uint64_t deadline, text_buffer *answer) {
  while (has_body(from, deadline)) {
    text_slice part = peek_body(from);
    text_add(answer, part.at, part.length);
    use_body(from, part.length);
    if (answer->is_broken || answer->length > ANSWER_MAX) return false;
  }
  return from->is_ended || from->left == UINT64_MAX;
}

int http_post(const http_address *address, const char *path, const text_buffer *body, uint64_t deadline,
              text_buffer *answer) {
  if (!enter_pool(deadline)) return -1;
  http_connection from = {.socket = take_idle(address)};
  if (from.socket == PLATFORM_NO_SOCKET) from.socket = connect_to(address, deadline);
  if (from.socket == PLATFORM_NO_SOCKET) {
    leave_pool(address, from.socket, false);
    return 0;
  }
  int status = -1;
  if (send_request(from.socket, address, "POST", path, body, deadline)) status = read_head(&from, deadline);
  if (status > 0 && !read_body(&from, deadline, answer)) status = -1;
  leave_pool(address, from.socket, status > 0 && from.is_kept && from.is_ended && from.next == from.count);
  return status;
}

int http_open_stream(const http_address *address, const char *path, uint64_t deadline, http_connection *stream) {
  *stream = (http_connection){.socket = connect_to(address, deadline)};
  if (stream->socket == PLATFORM_NO_SOCKET) return 0;
  int status = -1;
  if (send_request(stream->socket, address, "GET", path, NULL, deadline)) status = read_head(stream, deadline);
  if (status != 200) {
    platform_close(stream->socket);
    stream->socket = PLATFORM_NO_SOCKET;
  }
  return status;
}

bool http_read_line(http_connection *stream, uint64_t deadline, text_buffer *line) {
  line->length = 0;
  while (has_body(stream, deadline)) {
    text_slice part = peek_body(stream);
    const char *end = memchr(part.at, '\n', part.length);
    size_t length = end == NULL ? part.length : (size_t)(end - part.at);
    text_add(line, part.at, length);
    use_body(stream, end == NULL ? length : length + 1);
    if (line->is_broken || line->length > LINE_MAX_BYTES) return false;
    if (end != NULL) return true;
  }
  return false;
}
