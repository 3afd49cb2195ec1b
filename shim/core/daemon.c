#include "daemon.h"

#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 30000
#define TIMEOUT_MS_MAX 600000

/* The texts of the few errors that are raised here (hcn.md §6). */
static const char *message_of(hresult code) {
  switch (code) {
  case E_INVALID_PARAMETER:
    return "The parameter is incorrect. ";
  case E_OUT_OF_MEMORY:
    return "Not enough memory resources are available to complete this operation. ";
  case E_UNKNOWN_INTERFACE:
    return "The interface is unknown. ";
  case E_SYSTEM_NOT_FOUND:
    return "A virtual machine or container with the specified identifier does not exist. ";
  case E_INVALID_JSON:
    return "Invalid JSON document string. ";
  default:
    return "The RPC server is unavailable. ";
  }
}

/* `detail` is our own text and needs no escapes. */
void daemon_refuse(daemon_answer *answer, hresult code, const char *detail) {
  answer->code = code;
  answer->result = (text_slice){"", 0};
  answer->record.length = 0;
  text_add_string(&answer->record, "{\"Success\":false,\"Error\":\"");
  text_add_string(&answer->record, message_of(code));
  text_add_string(&answer->record, "\",\"ErrorCode\":");
  text_add_number(&answer->record, (uint32_t)code);
  text_add_string(&answer->record, ",\"Detail\":\"");
  text_add_string(&answer->record, detail);
  text_add_string(&answer->record, "\"}");
}

void daemon_free(daemon_answer *answer) {
  text_free(&answer->record);
  text_free(&answer->body);
  *answer = (daemon_answer){0};
}

/* Without what a header cannot hold; a file of a token ends with a line end. */
static bool take_token(http_address *address, const char *text, size_t length) {
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r' || text[length - 1] == ' ')) length--;
  if (length >= sizeof address->token) return false;
  for (size_t i = 0; i < length; i++) {
    if (text[i] <= ' ' || text[i] > '~') return false;
  }
  memcpy(address->token, text, length);
  address->token[length] = 0;
  return true;
}

static bool find_token(http_address *address) {
  char text[1024];
  char path[1024];
  if (platform_variable("MULLION_HNS_TOKEN", text, sizeof text)) return take_token(address, text, strlen(text));
  if (!platform_variable("MULLION_HNS_TOKEN_FILE", path, sizeof path)) return true;
  long length = platform_read_file(path, text, sizeof text);
  return length >= 0 && take_token(address, text, (size_t)length);
}

/* `http://127.0.0.1:PORT`: no other machine is ever asked. */
static bool parse_address(const char *text, http_address *address) {
  static const char *const hosts[] = {"http://127.0.0.1:", "http://localhost:", "http://[::1]:"};
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
    size_t length = strlen(hosts[i]);
    if (strncmp(text, hosts[i], length) != 0) continue;
    char *end;
    unsigned long port = strtoul(text + length, &end, 10);
    if (port == 0 || port > 65535 || (*end == '/' ? end[1] : *end) != 0) return false;
    address->is_ipv6 = i == 2;
    address->port = (uint16_t)port;
    return true;
  }
  return false;
}

/* Why there is no address, or NULL. Read for each call: the program may set the variables after it loaded us. */
static const char *find_daemon(http_address *address) {
  char text[1024];
  *address = (http_address){0};
  if (!platform_variable("MULLION_HNS", text, sizeof text)) {
    return "MULLION_HNS is not set. Start a service with: mullion hns serve --listen 127.0.0.1:PORT --token-file FILE; "
           "set MULLION_HNS to http://127.0.0.1:PORT and MULLION_HNS_TOKEN to its token";
  }
  if (!parse_address(text, address)) return "MULLION_HNS has to be http://127.0.0.1:PORT for Windows programs";
  if (!find_token(address)) {
    return "MULLION_HNS_TOKEN, or the file that MULLION_HNS_TOKEN_FILE names, does not hold a token";
  }
  return NULL;
}

static uint64_t call_deadline(void) {
  char text[16];
  unsigned long wanted = 0;
  if (platform_variable("MULLION_HNS_TIMEOUT_MS", text, sizeof text)) wanted = strtoul(text, NULL, 10);
  return platform_now() + (wanted == 0 || wanted > TIMEOUT_MS_MAX ? TIMEOUT_MS : wanted);
}

/* A refusal of the daemon: its record goes to the caller as it stands. */
static bool read_refusal(daemon_answer *answer, text_slice body) {
  text_slice error;
  text_slice code;
  uint64_t number;
  if (!json_member(body, "error", &error) || !json_member(error, "ErrorCode", &code)) return false;
  if (!json_number(code, &number) || number == 0 || number > UINT32_MAX) return false;
  answer->code = (hresult)(uint32_t)number;
  text_add(&answer->record, error.at, error.length);
  return true;
}

static void read_answer(daemon_answer *answer, int status) {
  text_slice body = {answer->body.data == NULL ? "" : answer->body.data, answer->body.length};
  if (json_is_valid(body)) {
    if (status == 200 && json_member(body, "result", &answer->result)) return;
    if (status != 200 && read_refusal(answer, body)) return;
  }
  daemon_refuse(answer, E_SERVER_UNAVAILABLE, "What answers at MULLION_HNS is no answer of an HNS");
}

void daemon_call(const char *operation, const text_buffer *request, daemon_answer *answer) {
  http_address address;
  char path[64];
  *answer = (daemon_answer){0};
  if (request->is_broken) {
    daemon_refuse(answer, E_OUT_OF_MEMORY, "The request does not fit into memory");
    return;
  }
  const char *missing = find_daemon(&address);
  if (missing != NULL) {
    daemon_refuse(answer, E_SERVER_UNAVAILABLE, missing);
    return;
  }
  snprintf(path, sizeof path, "/hcn/%s", operation);
  int status = http_post(&address, path, request, call_deadline(), &answer->body);
  if (status == 0) {
    daemon_refuse(answer, E_SERVER_UNAVAILABLE, "Nothing listens at the address in MULLION_HNS");
  } else if (status == HTTP_OTHER_VERSION) {
    daemon_refuse(answer, E_UNKNOWN_INTERFACE,
                  "This DLL and the service at MULLION_HNS are not of one version of Mullion; take both from one");
  } else if (status < 0) {
    daemon_refuse(answer, E_SERVER_UNAVAILABLE, "The service at MULLION_HNS closed the connection, or did not answer in time");
  } else {
    read_answer(answer, status);
  }
}

hresult daemon_listen(const char *query, http_connection *stream) {
  http_address address;
  text_buffer path = {0};
  int status = -1;
  if (find_daemon(&address) != NULL) return E_SERVER_UNAVAILABLE;
  text_add_string(&path, "/hcn/notifications");
  text_add_string(&path, query);
  if (!path.is_broken) status = http_open_stream(&address, path.data, call_deadline(), stream);
  text_free(&path);
  switch (status) {
  case 200:
    return 0;
  case 401:
    return E_ACCESS_DENIED;
  case HTTP_OTHER_VERSION:
    return E_UNKNOWN_INTERFACE;
  default:
    return E_SERVER_UNAVAILABLE;
  }
}
