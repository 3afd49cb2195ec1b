/* The exports of vmcompute.dll that networks need: HNS v1 (hcn.md §1.7), and of HCS what attaches endpoints to running
 * containers and virtual machines (hcn.md §4.5). */
#include "../core/json.h"
#include "../core/notifications.h"
#include "exchange.h"

#include <stdio.h>
#include <string.h>

/* True when the text is this word, in small letters, or begins with it; any letter case. */
static bool begins_with(const utf16 *text, const char *word) {
  for (; *word != 0; text++, word++) {
    utf16 c = *text >= 'A' && *text <= 'Z' ? (utf16)(*text + 32) : *text;
    if (c != (unsigned char)*word) return false;
  }
  return true;
}

/* The HRESULT of a refused call. From 1809 on HNSCall itself fails; what still answers S_OK and an envelope with
 * `"Success":false` is the deletion of an endpoint, and any call of older builds, whose envelopes have no ErrorCode
 * (hcn.md §1.7). Inferred: that no other call does. Programs that compare texts may ask for envelopes: Wine has no
 * texts for the numbers of HNS. */
static hresult refusal_of(text_slice envelope, const utf16 *method, const utf16 *path) {
  text_slice value;
  uint64_t code;
  char wanted[16];
  if (platform_variable("MULLION_HNS_REFUSALS", wanted, sizeof wanted) && strcmp(wanted, "envelope") == 0) return 0;
  if (!json_member(envelope, "Success", &value) || value.length != 5) return 0;
  if (!json_member(envelope, "ErrorCode", &value) || !json_number(value, &code) || code > UINT32_MAX) return 0;
  if (begins_with(method, "delete") && begins_with(*path == '/' ? path + 1 : path, "endpoints/")) return 0;
  return (hresult)(uint32_t)code;
}

EXPORT hresult HNSCall(const utf16 *method, const utf16 *path, const utf16 *object, utf16 **response) {
  text_buffer request = {0};
  daemon_answer answer = {0};
  if (response != NULL) *response = NULL;
  if (response == NULL || method == NULL || path == NULL) return E_INVALID_PARAMETER;
  if (add_text(&request, "method", method, &answer) && add_text(&request, "path", path, &answer) &&
      add_text(&request, "body", object, &answer)) {
    call("call", &request, &answer);
    if (answer.code == 0) answer.code = refusal_of(answer.result, method, path);
  }
  text_free(&request);
  return give(&answer, response, NULL);
}

/* HCS tells of errors in another form than HNS: `{"Error":<HRESULT>,"ErrorMessage":"…"}`. */
static hresult give_hcs(daemon_answer *answer, utf16 **value, utf16 **result) {
  text_slice message = {"\"\"", 2};
  text_slice record = {answer->record.data == NULL ? "" : answer->record.data, answer->record.length};
  text_buffer told = {0};
  hresult code = answer->code;
  if (result != NULL) *result = NULL;
  if (code != 0 && result != NULL) {
    json_member(record, "Error", &message);
    /* Go reads it as a signed number. */
    text_add_string(&told, "{\"Error\":-");
    text_add_number(&told, 0u - (uint32_t)code);
    text_add_string(&told, ",\"ErrorMessage\":");
    text_add(&told, message.at, message.length);
    text_add_string(&told, "}");
    *result = told.is_broken ? NULL : text_to_task16(told.data, told.length);
    text_free(&told);
  }
  return give(answer, value, NULL);
}

static hresult refuse_hcs(hresult code, const char *detail, utf16 **result) {
  daemon_answer answer = {0};
  daemon_refuse(&answer, code, detail);
  return give_hcs(&answer, NULL, result);
}

static const char BAD_SYSTEM[] = "The handle of the compute system is not open";

EXPORT hresult HcsEnumerateComputeSystems(const utf16 *query, utf16 **systems, utf16 **result) {
  text_buffer request = {0};
  daemon_answer answer = {0};
  (void)query;
  if (systems == NULL) return refuse_hcs(E_INVALID_PARAMETER, "The place for the list is missing", result);
  call("systems", &request, &answer);
  return give_hcs(&answer, systems, result);
}

/* Ids of compute systems are chosen by programs. Those with other characters than these are not taken: they would have
 * to be escaped wherever the id is used, and no runtime makes them. */
static bool read_system_id(const utf16 *text, char id[HANDLE_ID_SIZE]) {
  size_t length;
  if (text == NULL || !text_length16(text, HANDLE_ID_SIZE - 1, &length) || length == 0) return false;
  for (size_t i = 0; i < length; i++) {
    if (text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\') return false;
    id[i] = (char)text[i];
  }
  id[length] = 0;
  return true;
}

static hresult open_system(const char *id, void **system, daemon_answer *answer, utf16 **result) {
  if (answer->code == 0) {
    *system = handle_open(HANDLE_COMPUTE_SYSTEM, id, NULL);
    if (*system == NULL) daemon_refuse(answer, E_OUT_OF_MEMORY, "Too many handles are open");
  }
  return give_hcs(answer, NULL, result);
}

/* The daemon creates and starts in one. `identity` is a token that HCS uses for folders, which nothing here has. */
EXPORT hresult HcsCreateComputeSystem(const utf16 *name, const utf16 *configuration, void *identity, void **system,
                                      utf16 **result) {
  char id[HANDLE_ID_SIZE];
  text_buffer request = {0};
  daemon_answer answer = {0};
  (void)identity;
  if (system != NULL) *system = NULL;
  if (system == NULL || configuration == NULL || !read_system_id(name, id)) {
    return refuse_hcs(E_INVALID_PARAMETER, "The id, the configuration or the place for the handle is missing", result);
  }
  add_plain(&request, "id", id);
  if (add_text(&request, "settings", configuration, &answer)) call("systems-create", &request, &answer);
  text_free(&request);
  return open_system(id, system, &answer, result);
}

/* Finds a system in the daemon's list; `answer` says when it is not there. */
static bool find_system(const char *id, daemon_answer *answer, text_slice *system) {
  text_buffer request = {0};
  text_slice value;
  text_slice text;
  call("systems", &request, answer);
  for (size_t cursor = 0; json_next(answer->result, &cursor, system);) {
    bool is_named = json_member(*system, "Id", &value) && json_plain_string(value, &text);
    if (is_named && text.length == strlen(id) && memcmp(text.at, id, text.length) == 0) return true;
  }
  if (answer->code == 0) daemon_refuse(answer, E_SYSTEM_NOT_FOUND, "No compute system has this id");
  return false;
}

EXPORT hresult HcsOpenComputeSystem(const utf16 *name, void **system, utf16 **result) {
  char id[HANDLE_ID_SIZE];
  daemon_answer answer = {0};
  text_slice found;
  if (system != NULL) *system = NULL;
  if (system == NULL || !read_system_id(name, id)) {
    return refuse_hcs(E_INVALID_PARAMETER, "The id or the place for the handle is missing", result);
  }
  find_system(id, &answer, &found);
  return open_system(id, system, &answer, result);
}

EXPORT hresult HcsCloseComputeSystem(void *system) {
  return handle_close(system, HANDLE_COMPUTE_SYSTEM, NULL) ? 0 : E_INVALID_PARAMETER;
}

/* Creating has started it; what is left to say is whether it is still there. */
EXPORT hresult HcsStartComputeSystem(void *system, const utf16 *options, utf16 **result) {
  char id[HANDLE_ID_SIZE];
  daemon_answer answer = {0};
  text_slice found;
  (void)options;
  if (!handle_read(system, HANDLE_COMPUTE_SYSTEM, id)) return refuse_hcs(E_INVALID_PARAMETER, BAD_SYSTEM, result);
  find_system(id, &answer, &found);
  return give_hcs(&answer, NULL, result);
}

EXPORT hresult HcsGetComputeSystemProperties(void *system, const utf16 *query, utf16 **properties, utf16 **result) {
  char id[HANDLE_ID_SIZE];
  daemon_answer answer = {0};
  text_slice found;
  (void)query;
  if (properties != NULL) *properties = NULL;
  if (properties == NULL || !handle_read(system, HANDLE_COMPUTE_SYSTEM, id)) {
    return refuse_hcs(E_INVALID_PARAMETER, BAD_SYSTEM, result);
  }
  if (find_system(id, &answer, &found)) answer.result = found;
  return give_hcs(&answer, properties, result);
}

EXPORT hresult HcsModifyComputeSystem(void *system, const utf16 *configuration, utf16 **result) {
  char id[HANDLE_ID_SIZE];
  text_buffer request = {0};
  daemon_answer answer = {0};
  if (configuration == NULL || !handle_read(system, HANDLE_COMPUTE_SYSTEM, id)) {
    return refuse_hcs(E_INVALID_PARAMETER, BAD_SYSTEM, result);
  }
  add_plain(&request, "id", id);
  if (add_text(&request, "settings", configuration, &answer)) call("systems-modify", &request, &answer);
  text_free(&request);
  return give_hcs(&answer, NULL, result);
}

static hresult end_system(void *system, utf16 **result) {
  char id[HANDLE_ID_SIZE];
  text_buffer request = {0};
  daemon_answer answer = {0};
  if (!handle_read(system, HANDLE_COMPUTE_SYSTEM, id)) return refuse_hcs(E_INVALID_PARAMETER, BAD_SYSTEM, result);
  add_plain(&request, "id", id);
  call("systems-terminate", &request, &answer);
  return give_hcs(&answer, NULL, result);
}

EXPORT hresult HcsTerminateComputeSystem(void *system, const utf16 *options, utf16 **result) {
  (void)options;
  return end_system(system, result);
}

/* Nothing runs inside that would have to be asked to end. */
EXPORT hresult HcsShutdownComputeSystem(void *system, const utf16 *options, utf16 **result) {
  (void)options;
  return end_system(system, result);
}

/* The query that names a system: with everything but letters and digits as %XX, since ids are chosen by programs. */
static void add_system_query(text_buffer *query, const char *id) {
  char escape[4];
  text_add_string(query, "?computeSystem=");
  for (; *id != 0; id++) {
    bool is_plain = (*id >= '0' && *id <= '9') || (*id >= 'A' && *id <= 'Z') || (*id >= 'a' && *id <= 'z');
    if (is_plain) text_add(query, id, 1);
    else text_add(query, escape, (size_t)snprintf(escape, sizeof escape, "%%%02x", (unsigned)*id));
  }
}

/* hcsshim opens no system without it: it hears of its end (SystemExited), and that the service is gone. */
EXPORT hresult HcsRegisterComputeSystemCallback(void *system, notification_callback callback, void *context,
                                                void **registration) {
  char id[HANDLE_ID_SIZE];
  text_buffer query = {0};
  hresult code = E_OUT_OF_MEMORY;
  if (registration == NULL) return E_INVALID_PARAMETER;
  *registration = NULL;
  if (callback == NULL || !handle_read(system, HANDLE_COMPUTE_SYSTEM, id)) return E_INVALID_PARAMETER;
  add_system_query(&query, id);
  if (!query.is_broken) code = notifications_register(NOTIFICATIONS_OF_HCS, query.data, callback, context, registration);
  text_free(&query);
  return code;
}

EXPORT hresult HcsUnregisterComputeSystemCallback(void *registration) { return notifications_unregister(registration); }
