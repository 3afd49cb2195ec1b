/* What has to hold of the parsers, whatever they are given. */
#include "../core/daemon.h"
#include "../core/json.h"
#include "fuzz.h"

#include <string.h>

unsigned long good_documents, good_answers, good_lines;

static bool is_within(text_slice part, text_slice whole) {
  return part.at >= whole.at && part.at + part.length <= whole.at + whole.length;
}

/* Every part of a document is one itself, and lies in it. */
static void walk(text_slice value, int depth) {
  text_slice part;
  uint64_t number;
  if (!json_is_valid(value)) FAIL("a part of a document is none: %.*s", (int)value.length, value.at);
  if (depth > 8) return;
  json_number(value, &number);
  if (json_plain_string(value, &part) && !is_within(part, value)) FAIL("a string lies outside");
  static const char *const names[] = {"result", "error", "a", ""};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!json_member(value, names[i], &part)) continue;
    if (!is_within(part, value)) FAIL("a member lies outside");
    walk(part, depth + 1);
  }
  for (size_t cursor = 0; json_next(value, &cursor, &part);) {
    if (!is_within(part, value)) FAIL("an element lies outside");
    walk(part, depth + 1);
  }
}

bool check_json(const char *bytes, size_t length) {
  /* Without a byte behind it, so that reading on is noticed. */
  char *exact = malloc(length == 0 ? 1 : length);
  if (exact == NULL) FAIL("no memory");
  memcpy(exact, bytes, length);
  bool is_good = json_is_valid((text_slice){exact, length});
  if (is_good) walk((text_slice){exact, length}, 0);
  free(exact);
  return is_good;
}

void fuzz_json(void) {
  text_buffer text = {0};
  add_random_json(&text, 0);
  bool is_changed = pick(4) != 0;
  if (is_changed) mutate(&text);
  bool is_good = check_json(text.data == NULL ? "" : text.data, text.length);
  if (!is_changed && !is_good) FAIL("a document is refused: %s", text.data);
  good_documents += is_good;
  text_free(&text);
}

static void check_units(const uint16_t *units, uint32_t length) {
  text_buffer escaped = {0};
  text_add_json(&escaped, units, length);
  if (!json_is_valid((text_slice){escaped.data, escaped.length})) FAIL("no JSON string: %s", escaped.data);
  text_free(&escaped);
}

static void check_bytes(const char *bytes, size_t length) {
  char *exact = malloc(length + 1);
  if (exact == NULL) FAIL("no memory");
  memcpy(exact, bytes, length);
  uint16_t *wide = text_to_task16(exact, length);
  size_t out = 0;
  if (wide == NULL) FAIL("no text");
  while (wide[out] != 0) out++;
  if (out > length) FAIL("%zu units of %zu bytes", out, length);
  free(wide);
  free(exact);
}

void fuzz_text(void) {
  uint16_t units[64];
  char bytes[64];
  uint32_t length = pick(64);
  for (uint32_t i = 0; i < length; i++) {
    units[i] = (uint16_t)(pick(3) == 0 ? 0xd700 + pick(0x1000) : pick(3) == 0 ? pick(0x80) : pick(65536));
    bytes[i] = (char)(pick(2) == 0 ? pick(256) : 0xc0 + pick(64));
  }
  check_units(units, length);
  check_bytes(bytes, length);
}

void check_text(const uint8_t *bytes, size_t length) {
  uint16_t units[64];
  uint32_t count = (uint32_t)(length / 2 < 64 ? length / 2 : 64);
  memcpy(units, bytes, (size_t)count * 2);
  check_units(units, count);
  check_bytes((const char *)bytes, length);
}

/* Adds the body in one of the three ways of HTTP. */
static peer_end add_body(text_buffer *answer, const text_buffer *body) {
  char line[64];
  switch (pick(3)) {
  case 0:
    snprintf(line, sizeof line, "content-length: %zu\r\n\r\n", body->length);
    text_add_string(answer, line);
    text_add(answer, body->data, body->length);
    return (peer_end)pick(3);
  case 1:
    text_add_string(answer, "Transfer-Encoding: chunked\r\n\r\n");
    for (size_t at = 0; at < body->length;) {
      size_t left = body->length - at;
      size_t part = 1 + pick((uint32_t)left);
      snprintf(line, sizeof line, "%zx%s\r\n", part, pick(4) == 0 ? ";name=value" : "");
      text_add_string(answer, line);
      text_add(answer, body->data + at, part);
      text_add_string(answer, "\r\n");
      at += part;
    }
    text_add_string(answer, "0\r\n\r\n");
    return (peer_end)pick(3);
  default:
    text_add_string(answer, "\r\n");
    text_add(answer, body->data, body->length);
    return PEER_CLOSES;
  }
}

static void begin_answer(text_buffer *answer, int status) {
  char line[64];
  snprintf(line, sizeof line, "HTTP/1.1 %d Whatever\r\n", status);
  text_add_string(answer, line);
  text_add_string(answer, "mullion-hns-version: " HTTP_VERSION "\r\nDate: now\r\n");
  if (pick(4) == 0) text_add_string(answer, "Connection: close\r\n");
}

static void check_answer(const daemon_answer *answer, bool is_changed, int status) {
  text_slice record = {answer->record.data == NULL ? "" : answer->record.data, answer->record.length};
  if (answer->code == 0) {
    if (record.length > 0) FAIL("a record on success");
    if (!json_is_valid(answer->result)) FAIL("a result that is no JSON");
    good_answers++;
  } else if (!json_is_valid(record)) {
    FAIL("a record that is no JSON: %s", record.at);
  }
  if (is_changed) return;
  if (status == 200 && answer->code != 0) FAIL("a good answer is refused: %s", record.at);
  if (status != 200 && answer->code != (hresult)0x803b0010) FAIL("0x%x instead of the refusal", (unsigned)answer->code);
}

static void call(const text_buffer *said, peer_end end, bool is_changed, int status) {
  text_buffer request = {0};
  daemon_answer answer;
  text_add_string(&request, "{}");
  peer_answers(said, end);
  uint64_t begin = platform_now();
  daemon_call("enumerate", &request, &answer);
  if (platform_now() - begin > 30000 + HTTP_CANCEL_MS) FAIL("a call took %u ms", (unsigned)(platform_now() - begin));
  check_answer(&answer, is_changed, status);
  daemon_free(&answer);
  text_free(&request);
}

void check_call(const text_buffer *said, peer_end end) { call(said, end, true, 0); }

/* One call of a service that answers well, or not quite. */
void fuzz_call(void) {
  text_buffer body = {0}, said = {0};
  bool is_changed = pick(4) != 0;
  int status = pick(2) == 0 ? 200 : 409;
  text_add_string(&body, status == 200 ? "{\"result\":" : "{\"error\":{\"ErrorCode\":2151350288,\"Error\":");
  add_random_json(&body, status == 200 ? 0 : 7);
  text_add_string(&body, status == 200 ? "}" : "}}");
  if (is_changed && pick(2) == 0) mutate(&body);
  begin_answer(&said, status);
  peer_end end = add_body(&said, &body);
  if (is_changed) mutate(&said);
  call(&said, end, is_changed, status);
  text_free(&body);
  text_free(&said);
}

/* @returns how many lines came; below 0: the stream was refused. */
static int listen_to(const text_buffer *said, peer_end end) {
  text_buffer line = {0};
  http_connection stream;
  int heard = 0;
  peer_answers(said, end);
  if (daemon_listen("?network=1", &stream) != 0) return -1;
  uint64_t deadline = platform_now() + 45000;
  for (; http_read_line(&stream, deadline, &line); heard++) {
    if (heard > 100000) FAIL("a stream without an end");
  }
  good_lines += (unsigned long)heard;
  platform_close(stream.socket);
  text_free(&line);
  return heard;
}

void check_stream(const text_buffer *said, peer_end end) { listen_to(said, end); }

/* A stream of notifications, to its end. */
void fuzz_stream(void) {
  text_buffer body = {0}, said = {0};
  int lines = (int)pick(4);
  bool is_changed = pick(4) != 0;
  for (int i = 0; i < lines; i++) {
    text_add_string(&body, "{\"type\":2,\"status\":0,\"data\":");
    add_random_json(&body, 5);
    text_add_string(&body, "}\n");
  }
  text_add_string(&body, "\n");
  begin_answer(&said, 200);
  peer_end end = add_body(&said, &body);
  if (is_changed) mutate(&said);
  int heard = listen_to(&said, end);
  if (!is_changed && heard < 0) FAIL("a stream is refused");
  if (!is_changed && heard != lines + 1) FAIL("%d lines instead of %d", heard, lines + 1);
  text_free(&body);
  text_free(&said);
}
