#include "documents.h"
#include "listening.h"
#include "scenarios.h"

typedef hresult (*register_for_function)(void *, callback, void *, void **);

#define MACHINE "{\"Owner\":\"test\",\"SchemaVersion\":{\"Major\":2,\"Minor\":1},\"VirtualMachine\":{}}"

static void *make_system(const char *id) {
  void *system;
  utf16 *result = NULL;
  create_system_function make = HCS(create_system_function, "HcsCreateComputeSystem");
  EXPECT(make(wide(id), wide(MACHINE), NULL, &system, &result), 0);
  if (result != NULL) FAIL("a result document on success");
  EXPECT(HCS(modify_function, "HcsStartComputeSystem")(system, wide(""), &result), 0);
  return system;
}

/* A running virtual machine gets an endpoint and loses it, as hcsshim's hot attach does it. */
void run_systems(void) {
  void *network, *endpoint, *system;
  utf16 *result = NULL;
  utf16 *text = NULL;
  EXPECT(create("Network", NAT, &network), 0);
  EXPECT(create_endpoint(network, "{\"Name\":\"nic\"," V2 "}", &endpoint), 0);
  const char *endpoint_id = id_of("Endpoint", endpoint);
  EXPECT(HCS(open_system_function, "HcsOpenComputeSystem")(wide("machine"), &system, &result), 0xc037010e);
  CONTAINS(take(result), "\"Error\":-1070137074");
  system = make_system("machine");
  const char *change = "{\"ResourceType\":\"Network\",\"RequestType\":\"%s\",\"Settings\":\"%s\"}";
  modify_function attach = HCS(modify_function, "HcsModifyComputeSystem");
  EXPECT(attach(system, wide(print(change, "Add", endpoint_id)), &result), 0);
  EXPECT(HCS(query_function, "HcsGetComputeSystemProperties")(system, NULL, &text, &result), 0);
  CONTAINS(take(text), endpoint_id);
  EXPECT(attach(system, wide(print(change, "Remove", endpoint_id)), &result), 0);
  EXPECT(HCS(modify_function, "HcsTerminateComputeSystem")(system, wide(""), &result), 0);
  EXPECT(HCS(close_function, "HcsCloseComputeSystem")(system), 0);
  EXPECT(HCS(close_function, "HcsCloseComputeSystem")(system), 0x80070057);
  EXPECT(attach(system, wide("{}"), &result), 0x80070057);
  CONTAINS(take(result), "\"ErrorMessage\":\"The parameter is incorrect. \"");
  EXPECT(delete_object("Endpoint", endpoint_id), 0);
  EXPECT(delete_object("Network", id_of("Network", network)), 0);
}

/* Registrations of compute systems, without which hcsshim opens none: they hear of the end of theirs. */
void run_exit(void) {
  static heard first, second;
  void *registration, *other, *third = &third;
  utf16 *result = NULL;
  /* As a program may name it: with characters that mean something in a URL. */
  void *system = make_system("a b&c?d%e/f#g+h");
  void *survivor = make_system("survivor");
  register_for_function add = HCS(register_for_function, "HcsRegisterComputeSystemCallback");
  close_function end = HCS(close_function, "HcsUnregisterComputeSystemCallback");
  EXPECT(add(system, hear, &first, &registration), 0);
  EXPECT(add(survivor, hear, &second, &other), 0);
  EXPECT(add(system, NULL, NULL, &third), 0x80070057);
  if (third != NULL) FAIL("a registration of what was refused");
  EXPECT(add(NULL, hear, &first, &third), 0x80070057);
  EXPECT(add(system, hear, &first, NULL), 0x80070057);
  EXPECT(HCS(modify_function, "HcsTerminateComputeSystem")(system, wide(""), &result), 0);
  wait_for(&first, 1);
  CONTAINS(first.data, "\"ExitType\":\"ForcedExit\"");
  EXPECT(end(registration), 0);
  EXPECT(end(registration), 0x80070057);
  EXPECT(end(other), 0);
  if (first.count != 1 || second.count != 0) FAIL("heard %d and %d", first.count, second.count);
  EXPECT(HCS(modify_function, "HcsShutdownComputeSystem")(survivor, wide(""), &result), 0);
  EXPECT(HCS(close_function, "HcsCloseComputeSystem")(survivor), 0);
  EXPECT(HCS(close_function, "HcsCloseComputeSystem")(system), 0);
}
