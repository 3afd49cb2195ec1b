/* Calls of the daemon (docs/reference/hns-api.md), with their HRESULT. */
#ifndef MULLION_DAEMON_H
#define MULLION_DAEMON_H

#include "http.h"

typedef int32_t hresult;

#define S_OK_ 0
#define E_ACCESS_DENIED ((hresult)0x80070005)
#define E_INVALID_PARAMETER ((hresult)0x80070057)
#define E_OUT_OF_MEMORY ((hresult)0x8007000e)
/* Windows' RPC says so of a service that has another version of an interface. */
#define E_UNKNOWN_INTERFACE ((hresult)0x800706b5)
#define E_SERVER_UNAVAILABLE ((hresult)0x800706ba)
#define E_SYSTEM_NOT_FOUND ((hresult)0xc037010e)
#define E_INVALID_JSON ((hresult)0x803b001b)

typedef struct {
  hresult code;
  /* What was asked for, as JSON; within `body`. */
  text_slice result;
  /* Windows' error record, as JSON; empty on success. */
  text_buffer record;
  text_buffer body;
} daemon_answer;

/* Makes a call and waits for its answer: MULLION_HNS_TIMEOUT_MS, or 30 s. `daemon_free` afterwards, in either case. */
void daemon_call(const char *operation, const text_buffer *request, daemon_answer *answer);
void daemon_free(daemon_answer *answer);
/* Makes an answer of our own: a refusal that needs no daemon. */
void daemon_refuse(daemon_answer *answer, hresult code, const char *detail);

/* Opens the stream of notifications with this query (`?network=…` or ``). */
hresult daemon_listen(const char *query, http_connection *stream);

#endif
