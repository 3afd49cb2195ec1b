#include "calls.h"
#include "documents.h"
#include "scenarios.h"

/* What HNS refuses keeps its HRESULT and its record on the way through the DLL; what is missing is said by it. */
void run_errors(void) {
  void *network, *other;
  utf16 *record = NULL;
  EXPECT(create("Network", NAT, &network), 0);
  EXPECT(create("Network", NAT, &other), 0x803b0010);
  if (other != NULL) FAIL("a handle of what was refused");
  CONTAINS(last_record, "A network with this name already exists. ");
  EXPECT(create("Network", "{\"Name\":", &other), 0x803b001b);
  EXPECT(create("Network", "", &other), 0x803b001b);
  EXPECT(delete_object("Network", "11111111-2222-3333-4444-555555555555"), 0x803b0001);
  guid unknown = read_guid("11111111-2222-3333-4444-555555555555");
  EXPECT(noted(HCN(open_function, "HcnOpenEndpoint")(&unknown, &other, &record), &record), 0x803b0002);
  EXPECT(noted(HCN(open_function, "HcnOpenNamespace")(&unknown, &other, &record), &record), 0x80070490);
  if (strcmp(enumerate("Endpoints", NULL), "[]") != 0) FAIL("no empty list");
  /* Records and results that nobody wants. */
  EXPECT(HCN(open_function, "HcnOpenEndpoint")(&unknown, &other, NULL), 0x803b0002);
  EXPECT(HCN(open_function, "HcnOpenEndpoint")(&unknown, NULL, NULL), 0x80070057);
  EXPECT(HCN(open_function, "HcnOpenEndpoint")(NULL, &other, NULL), 0x80070057);
  EXPECT(HCN(create_function, "HcnCreateNetwork")(&zero_guid, NULL, &other, NULL), 0x80070057);
  EXPECT(HCN(enumerate_function, "HcnEnumerateNetworks")(NULL, NULL, NULL), 0x80070057);
  EXPECT(delete_object("Network", print("%.36s%s", strchr(enumerate("Networks", NULL), '"') + 1, "")), 0);
}

/* Handles: none, invented, of another kind, used after they were closed, closed twice. */
void run_handles(void) {
  void *network, *endpoint, *again;
  utf16 *record = NULL;
  utf16 *text = NULL;
  EXPECT(create("Network", NAT, &network), 0);
  const char *id = id_of("Network", network);
  EXPECT(create_endpoint(NULL, "{}", &endpoint), 0x80070057);
  EXPECT(create_endpoint((void *)0x1234, "{}", &endpoint), 0x80070057);
  EXPECT(close_object("Endpoint", network), 0x80070057);
  EXPECT(close_object("Network", network), 0);
  EXPECT(close_object("Network", network), 0x80070057);
  EXPECT(modify("Network", network, "{}"), 0x80070057);
  EXPECT(noted(HCN(query_function, "HcnQueryNetworkProperties")(network, NULL, &text, &record), &record), 0x80070057);
  EXPECT(HCN(close_function, "HcnUnregisterServiceCallback")(network), 0x80070057);
  EXPECT(HCN(close_function, "HcnReleaseGuestNetworkServicePortReservationHandle")(network), 0x80070057);
  EXPECT(close_object("Network", (void *)UINTPTR_MAX), 0x80070057);
  EXPECT(close_object("Network", NULL), 0x80070057);
  /* A slot is used again, and the handle that was there before stays bad. */
  guid value = read_guid(id);
  EXPECT(noted(HCN(open_function, "HcnOpenNetwork")(&value, &again, &record), &record), 0);
  if (again == network) FAIL("a closed handle came back");
  EXPECT(modify("Network", network, "{}"), 0x80070057);
  CONTAINS(query("Network", again), id);
  EXPECT(delete_object("Network", id), 0);
  /* Deleting does not close; what is gone is said by its own code. */
  EXPECT(noted(HCN(query_function, "HcnQueryNetworkProperties")(again, NULL, &text, &record), &record), 0x803b0001);
  EXPECT(close_object("Network", again), 0);
}

/* Texts: without an end, nowhere, absurdly long, at an odd address, with half a surrogate pair. */
void run_texts(void) {
  void *other;
  utf16 *record = NULL;
  create_function make = HCN(create_function, "HcnCreateNetwork");
  EXPECT(noted(make(&zero_guid, endless_text(), &other, &record), &record), 0x80070057);
  EXPECT(noted(make(&zero_guid, (const utf16 *)(uintptr_t)0x10, &other, &record), &record), 0x80070057);
  size_t length = (size_t)6 << 20;
  utf16 *absurd = malloc((length + 1) * sizeof *absurd);
  if (absurd == NULL) FAIL("no memory");
  for (size_t i = 0; i < length; i++) absurd[i] = ' ';
  absurd[length] = 0;
  EXPECT(noted(make(&zero_guid, absurd, &other, &record), &record), 0x80070057);
  utf16 *half = wide("{\"Name\":\"?\"}");
  half[9] = 0xd800;
  EXPECT(noted(make(&zero_guid, half, &other, &record), &record), 0x803b001b);
  const utf16 *odd = (const utf16 *)((uintptr_t)half + 1);
  EXPECT(noted(make(&zero_guid, odd, &other, &record), &record), 0x80070057);
  enumerate_function list = HCN(enumerate_function, "HcnEnumerateNetworks");
  utf16 *text = NULL;
  EXPECT(noted(list(endless_text(), &text, &record), &record), 0x80070057);
  if (text != NULL) FAIL("a list of what was refused");
  utf16 *response = NULL;
  EXPECT(HCS(hns_call_function, "HNSCall")(wide("GET"), endless_text(), NULL, &response), 0x80070057);
  EXPECT(HCS(hns_call_function, "HNSCall")(endless_text(), wide("/networks/"), NULL, &response), 0x80070057);
  EXPECT(HCS(open_system_function, "HcsOpenComputeSystem")(endless_text(), &other, &record), 0x80070057);
  if (strcmp(enumerate("Networks", NULL), "[]") != 0) FAIL("a network of what was refused");
}

/* Any call is refused with this HRESULT (in hexadecimal), and the record says why. */
void run_refused(const char *expected) {
  void *network = &network;
  utf16 *record = NULL;
  utf16 *text = NULL;
  char *envelope;
  uint32_t wanted = (uint32_t)strtoul(expected, NULL, 16);
  EXPECT(noted(HCN(enumerate_function, "HcnEnumerateNetworks")(NULL, &text, &record), &record), wanted);
  if (text != NULL) FAIL("a list of what was refused");
  puts(last_record);
  EXPECT(create("Network", NAT, &network), wanted);
  if (network != NULL) FAIL("a handle of what was refused");
  EXPECT(hns_call("GET", "/networks/", "", &envelope), wanted);
}

/* A registration is refused with this HRESULT. */
void run_unheard(const char *expected) {
  void *registration = &registration;
  uint32_t wanted = (uint32_t)strtoul(expected, NULL, 16);
  EXPECT(HCN(register_function, "HcnRegisterServiceCallback")((callback)abort, NULL, &registration), wanted);
  if (registration != NULL) FAIL("a registration of what was refused");
}
