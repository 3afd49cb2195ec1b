#include "calls.h"
#include "scenarios.h"

static char *good_call(const char *method, const char *path, const char *body) {
  char *envelope;
  EXPECT(hns_call(method, path, body, &envelope), 0);
  CONTAINS(envelope, "\"Success\":true");
  return envelope;
}

static const char MISSING[] = "/endpoints/11111111-2222-3333-4444-555555555555";

/* HNS v1, and the two ways in which it refuses (hcn.md §1.7). */
void run_v1(void) {
  char *envelope;
  CONTAINS(good_call("GET", "/globals/version", ""), "\"Major\":");
  char *made = good_call("POST", "/networks/", "{\"Name\":\"v1\",\"Type\":\"nat\"}");
  CONTAINS(good_call("GET", "/networks/", ""), "\"v1\"");
  char *id = strstr(made, "\"ID\":\"");
  if (id == NULL) FAIL("no ID in %s", made);
  id[6 + 36] = 0;
  const char *path = print("/networks/%s%s", id + 6, "");
  good_call("DELETE", path, "");
  /* The call itself fails, from 1809 on. */
  EXPECT(hns_call("GET", path, "", &envelope), 0x803b0001);
  EXPECT(hns_call("GET", MISSING, "", &envelope), 0x803b0002);
  EXPECT(hns_call("POST", "/networks/", "{", &envelope), 0x803b001b);
  EXPECT(hns_call("GET", "/nowhere", "", &envelope), 0x803b0015);
  /* The deletion of an endpoint succeeds, and its envelope says no. */
  EXPECT(hns_call("delete", MISSING, "", &envelope), 0);
  CONTAINS(envelope, "\"Success\":false");
  CONTAINS(envelope, "The endpoint was not found. ");
  setting("MULLION_HNS_REFUSALS", "envelope");
  EXPECT(hns_call("GET", MISSING, "", &envelope), 0);
  CONTAINS(envelope, "The endpoint was not found. ");
  hns_call_function bare = HCS(hns_call_function, "HNSCall");
  EXPECT(bare(wide("GET"), wide("/networks/"), NULL, NULL), 0x80070057);
  utf16 *response = wide("?");
  EXPECT(bare(NULL, wide("/networks/"), NULL, &response), 0x80070057);
  if (response != NULL) FAIL("a response of a call that failed");
}
