#include "notifications.h"

#include "handles.h"
#include "json.h"

#include <stdlib.h>
#include <string.h>

#define SERVICE_DISCONNECT 0x01000000u
/* The daemon sends an empty line every 15 s: who is silent for three of them is gone. */
#define SILENCE_MS 45000
#define UNREGISTER_MS 10000

typedef struct {
  http_connection stream;
  notification_source source;
  notification_callback callback;
  void *context;
  platform_lock lock;
  platform_condition ended;
  uint64_t thread;
  bool is_ended;
  /* Its thread, and its handle until that is closed. Who goes last frees it. */
  int holders;
} registration;

static void let_go(registration *of) {
  platform_take(&of->lock);
  bool is_last = --of->holders == 0;
  platform_release(&of->lock);
  if (!is_last) return;
  platform_close(of->stream.socket);
  free(of);
}

static void tell(registration *of, uint32_t type, hresult status, const char *data, size_t length) {
  uint16_t *text = text_to_task16(data, length);
  if (text != NULL && !atomic_load(&of->stream.is_cancelled)) of->callback(type, of->context, status, text);
  platform_task_free(text);
}

/* One line: `{"type":2,"status":0,"data":{…}}`. True when it was the last. */
static bool tell_line(registration *of, text_slice line) {
  text_slice value;
  text_slice base;
  text_slice data = {"{}", 2};
  uint64_t type;
  uint64_t status = 0;
  if (line.length == 0) return false;
  if (!json_is_valid(line) || !json_member(line, "type", &value) || !json_number(value, &type)) return false;
  if (json_member(line, "status", &value)) json_number(value, &status);
  if (of->source == NOTIFICATIONS_OF_HNS) json_member(line, "data", &data);
  else if (json_member(line, "data", &base)) json_member(base, "Data", &data);
  tell(of, (uint32_t)type, (hresult)(uint32_t)status, data.at, data.length);
  return type == SERVICE_DISCONNECT;
}

static void run_registration(void *given) {
  registration *of = given;
  text_buffer line = {0};
  bool is_told = false;
  platform_take(&of->lock);
  of->thread = platform_thread_id();
  platform_release(&of->lock);
  while (!is_told && http_read_line(&of->stream, platform_now() + SILENCE_MS, &line)) {
    is_told = tell_line(of, (text_slice){line.data == NULL ? "" : line.data, line.length});
  }
  static const char zero[] = "{\"ID\":\"00000000-0000-0000-0000-000000000000\",\"Flags\":0}";
  const char *gone = of->source == NOTIFICATIONS_OF_HNS ? zero : "{}";
  if (!is_told) tell(of, SERVICE_DISCONNECT, 0, gone, strlen(gone));
  text_free(&line);
  platform_take(&of->lock);
  of->is_ended = true;
  platform_signal_all(&of->ended);
  platform_release(&of->lock);
  let_go(of);
}

hresult notifications_register(notification_source source, const char *query, notification_callback callback,
                               void *context, void **handle) {
  registration *made = calloc(1, sizeof *made);
  if (made == NULL) return E_OUT_OF_MEMORY;
  hresult code = daemon_listen(query, &made->stream);
  if (code != 0) {
    free(made);
    return code;
  }
  made->source = source;
  made->callback = callback;
  made->context = context;
  made->lock = (platform_lock)PLATFORM_LOCK_INIT;
  made->ended = (platform_condition)PLATFORM_CONDITION_INIT;
  made->holders = 2;
  *handle = handle_open(HANDLE_REGISTRATION, "registration", made);
  if (*handle != NULL && platform_start_thread(run_registration, made)) return 0;
  if (*handle != NULL) handle_close(*handle, HANDLE_REGISTRATION, NULL);
  *handle = NULL;
  platform_close(made->stream.socket);
  free(made);
  return E_OUT_OF_MEMORY;
}

hresult notifications_unregister(void *handle) {
  void *owned;
  if (!handle_close(handle, HANDLE_REGISTRATION, &owned)) return E_INVALID_PARAMETER;
  registration *of = owned;
  uint64_t until = platform_now() + UNREGISTER_MS;
  platform_take(&of->lock);
  atomic_store(&of->stream.is_cancelled, true);
  bool is_own = of->thread == platform_thread_id();
  platform_release(&of->lock);
  platform_shut(of->stream.socket);
  platform_take(&of->lock);
  for (uint64_t now = platform_now(); !is_own && !of->is_ended && now < until; now = platform_now()) {
    platform_wait(&of->ended, &of->lock, (uint32_t)(until - now));
  }
  platform_release(&of->lock);
  let_go(of);
  return 0;
}
