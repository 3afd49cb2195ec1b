#include "documents.h"
#include "listening.h"
#include "scenarios.h"

typedef hresult (*register_for_function)(void *, callback, void *, void **);

static hresult end_registration(void *registration) {
  return HCN(close_function, "HcnUnregisterServiceCallback")(registration);
}

static void make_and_delete_network(void) {
  void *network;
  EXPECT(create("Network", NAT, &network), 0);
  EXPECT(delete_object("Network", id_of("Network", network)), 0);
  EXPECT(close_object("Network", network), 0);
}

/* What the service and one of its networks tell, and that they stop (hcn.md §1.4). */
void run_notifications(void) {
  static heard service, of_network;
  void *registration, *second, *network, *endpoint;
  char *envelope;
  register_function add = HCN(register_function, "HcnRegisterServiceCallback");
  EXPECT(add(hear, &service, &registration), 0);
  EXPECT(add(NULL, NULL, &second), 0x80070057);
  if (second != NULL) FAIL("a registration of what was refused");
  EXPECT(add(hear, &service, NULL), 0x80070057);
  EXPECT(create("Network", NAT, &network), 0);
  wait_for(&service, 1);
  wait_for(&service, 2);
  register_for_function add_for = HCN(register_for_function, "HcnRegisterNetworkCallback");
  EXPECT(add_for((void *)0x1234, hear, &of_network, &second), 0x80070057);
  EXPECT(add_for(network, hear, &of_network, &second), 0);
  EXPECT(create_endpoint(network, "{\"Name\":\"leg\"," V2 "}", &endpoint), 0);
  const char *path = print("/endpoints/%s/attach%s", id_of("Endpoint", endpoint), "");
  EXPECT(hns_call("POST", path, "{\"SystemType\":\"Host\",\"CompartmentId\":1}", &envelope), 0);
  wait_for(&of_network, 9);
  CONTAINS(of_network.data, id_of("Endpoint", endpoint));
  EXPECT(HCN(close_function, "HcnUnregisterNetworkCallback")(second), 0);
  EXPECT(delete_object("Endpoint", id_of("Endpoint", endpoint)), 0);
  EXPECT(delete_object("Network", id_of("Network", network)), 0);
  wait_for(&service, 4);
  EXPECT(end_registration(registration), 0);
  EXPECT(end_registration(registration), 0x80070057);
  int before = service.count;
  make_and_delete_network();
  sleep_ms(100);
  if (service.count != before || of_network.count != 1) FAIL("called after it was taken out");
  if (has_heard(&service, SERVICE_DISCONNECT)) FAIL("told of a service that is there");
}

/* Calls back into the DLL, and takes itself out from within. */
static void hear_once(uint32_t type, void *context, hresult status, const utf16 *data) {
  heard *of = context;
  hear(type, context, status, data);
  free(enumerate("Networks", NULL));
  while (of->registration == NULL) sleep_ms(1);
  EXPECT(end_registration(of->registration), 0);
  of->in_callback = 2;
}

/* Makes an object and a registration from within, once: the first is heard by its own thread. */
static void hear_and_make(uint32_t type, void *context, hresult status, const utf16 *data) {
  static heard inner;
  heard *of = context;
  void *namespace, *registration;
  hear(type, context, status, data);
  if (of->in_callback != 0) return;
  of->in_callback = 1;
  EXPECT(HCN(register_function, "HcnRegisterServiceCallback")(hear, &inner, &registration), 0);
  EXPECT(create("Namespace", "{\"Type\":\"Host\"," V2 "}", &namespace), 0);
  wait_for(&inner, 5);
  EXPECT(end_registration(registration), 0);
  of->in_callback = 2;
}

/* Takes too long, and is taken out by somebody else meanwhile. */
static void hear_slowly(uint32_t type, void *context, hresult status, const utf16 *data) {
  heard *of = context;
  of->in_callback = 1;
  sleep_ms(300);
  hear(type, context, status, data);
}

static void wait_until(atomic_int *value, int wanted) {
  for (int i = 0; i < 1000 && *value != wanted; i++) sleep_ms(10);
  if (*value != wanted) FAIL("%d instead of %d", *value, wanted);
}

void run_reentry(void) {
  static heard once, maker, slow;
  void *registration;
  register_function add = HCN(register_function, "HcnRegisterServiceCallback");
  EXPECT(add(hear_once, &once, &registration), 0);
  once.registration = registration;
  make_and_delete_network();
  wait_until(&once.in_callback, 2);
  if (once.count != 1) FAIL("a callback did not take itself out: %d", once.count);
  EXPECT(end_registration(registration), 0x80070057);

  EXPECT(add(hear_and_make, &maker, &registration), 0);
  make_and_delete_network();
  wait_until(&maker.in_callback, 2);
  wait_for(&maker, 5);
  EXPECT(end_registration(registration), 0);

  /* Taking out waits for the callback that runs, and no other follows. */
  EXPECT(add(hear_slowly, &slow, &registration), 0);
  make_and_delete_network();
  wait_until(&slow.in_callback, 1);
  EXPECT(end_registration(registration), 0);
  if (slow.count != 1) FAIL("%d calls around the end of a registration", slow.count);
  sleep_ms(500);
  if (slow.count != 1) FAIL("called after it was taken out");
}

/* Says that it listens, waits until somebody did something to the service, and goes on. */
void run_lost(void) {
  static heard service, system_heard;
  void *registration, *of_system, *system;
  utf16 *text = NULL;
  utf16 *record = NULL;
  char line[16];
  EXPECT(HCN(register_function, "HcnRegisterServiceCallback")(hear, &service, &registration), 0);
  create_system_function make = HCS(create_system_function, "HcsCreateComputeSystem");
  EXPECT(make(wide("lost"), wide("{\"VirtualMachine\":{}}"), NULL, &system, &record), 0);
  register_for_function listen = HCS(register_for_function, "HcsRegisterComputeSystemCallback");
  EXPECT(listen(system, hear, &system_heard, &of_system), 0);
  free(enumerate("Networks", NULL));
  puts("ready");
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) FAIL("nobody says when to go on");
  enumerate_function list = HCN(enumerate_function, "HcnEnumerateNetworks");
  EXPECT(noted(list(NULL, &text, &record), &record), 0x800706ba);
  CONTAINS(last_record, "MULLION_HNS");
  /* A registration that is made now is refused, and what was registered before is told, once, and dead. */
  void *late = &late;
  EXPECT(HCN(register_function, "HcnRegisterServiceCallback")(hear, &service, &late), 0x800706ba);
  if (late != NULL) FAIL("a registration of what was refused");
  if (line[0] == 'k') {
    wait_for(&service, SERVICE_DISCONNECT);
    wait_for(&system_heard, SERVICE_DISCONNECT);
    sleep_ms(100);
    if (service.count != 1 || system_heard.count != 1) FAIL("told more than once that the service is gone");
  }
  EXPECT(HCN(close_function, "HcnUnregisterServiceCallback")(registration), 0);
  EXPECT(HCS(close_function, "HcsUnregisterComputeSystemCallback")(of_system), 0);
  EXPECT(HCS(close_function, "HcsCloseComputeSystem")(system), 0);
}

/* A stream of nonsense: nothing of it is told, but that it ended. */
void run_misled(void) {
  static heard service;
  void *registration;
  EXPECT(HCN(register_function, "HcnRegisterServiceCallback")(hear, &service, &registration), 0);
  wait_for(&service, SERVICE_DISCONNECT);
  sleep_ms(50);
  if (service.count != 1) FAIL("%d notifications", service.count);
  EXPECT(end_registration(registration), 0);
}
