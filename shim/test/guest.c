#include "documents.h"
#include "listening.h"
#include "scenarios.h"

typedef hresult (*register_for_function)(void *, callback, void *, void **);
typedef hresult (*reserve_function)(void *, uint32_t, uint32_t, uint16_t, void **);

/* HCN_PORT_RANGE_RESERVATION and HCN_PORT_RANGE_ENTRY (hcn.md §1.3). */
typedef struct {
  uint16_t starting_port, ending_port;
} port_range;

typedef struct {
  guid owning_partition, target_partition;
  uint32_t protocol;
  uint64_t priority;
  uint32_t reservation_type, sharing_flags, delivery_mode;
  uint16_t starting_port, ending_port;
} port_entry;

typedef hresult (*reserve_range_function)(void *, uint16_t, port_range *, void **);
typedef hresult (*list_function)(uint32_t *, port_entry **);
typedef void (*free_function)(port_entry *);

#define TCP 1u
#define EXCLUSIVE 1u

static const char GUEST[] = "{\"VirtualMachineId\":\"641313e1-7ae8-4ddb-94e5-3215f3a0b218\",\"Flags\":1," V2 "}";

static uint32_t count_reservations(uint16_t first) {
  uint32_t count = 77;
  port_entry *entries = NULL;
  EXPECT(HCN(list_function, "HcnEnumerateGuestNetworkPortReservations")(&count, &entries), 0);
  if (count > 0 && (entries == NULL || entries[0].starting_port != first)) FAIL("no entry of port %u", first);
  if (count > 0 && entries[0].target_partition.data1 != 0x641313e1) FAIL("another machine's entry");
  HCN(free_function, "HcnFreeGuestNetworkPortReservations")(entries);
  return count;
}

static void reserve_ports(void *service) {
  void *port, *again, *range;
  port_range given;
  reserve_function reserve = HCN(reserve_function, "HcnReserveGuestNetworkServicePort");
  close_function release = HCN(close_function, "HcnReleaseGuestNetworkServicePortReservationHandle");
  EXPECT(reserve(service, TCP, EXCLUSIVE, 80, &port), 0);
  if (count_reservations(80) != 1) FAIL("not one reservation");
  EXPECT(reserve(service, TCP, EXCLUSIVE, 80, &again), 0x803b0013);
  if (again != NULL) FAIL("a handle of what was refused");
  EXPECT(reserve(service, 9, EXCLUSIVE, 81, &again), 0x80070057);
  EXPECT(reserve(service, TCP, EXCLUSIVE, 81, NULL), 0x80070057);
  EXPECT(reserve(port, TCP, EXCLUSIVE, 81, &again), 0x80070057);
  EXPECT(release(port), 0);
  EXPECT(release(port), 0x80070057);
  /* WSL asks for so many, and wants the end to lie so many behind the start. */
  EXPECT(HCN(reserve_range_function, "HcnReserveGuestNetworkServicePortRange")(service, 4095, &given, &range), 0);
  if (given.ending_port - given.starting_port != 4095) FAIL("%u to %u", given.starting_port, given.ending_port);
  if (count_reservations(given.starting_port) != 1) FAIL("not one reservation");
  EXPECT(release(range), 0);
  if (count_reservations(0) != 0) FAIL("a reservation is left");
  EXPECT(HCN(list_function, "HcnEnumerateGuestNetworkPortReservations")(NULL, NULL), 0x80070057);
}

/* A guest network service, its states and the ports that it reserves, as WSL uses it. */
void run_guest(void) {
  static heard states;
  void *service, *opened, *registration;
  utf16 *record = NULL;
  EXPECT(create("GuestNetworkService", GUEST, &service), 0);
  const char *id = id_of("GuestNetworkService", service);
  CONTAINS(enumerate("GuestNetworkServices", NULL), id);
  guid value = read_guid(id);
  EXPECT(noted(HCN(open_function, "HcnOpenGuestNetworkService")(&value, &opened, &record), &record), 0);
  register_for_function add = HCN(register_for_function, "HcnRegisterGuestNetworkServiceCallback");
  EXPECT(add(opened, hear, &states, &registration), 0);
  const char *change = "{\"RequestType\":\"Update\",\"ResourceType\":\"State\",\"Settings\":{\"State\":\"%s\"}}";
  EXPECT(modify("GuestNetworkService", service, print(change, "Synchronized%s", "")), 0x803b001b);
  EXPECT(modify("GuestNetworkService", service, print(change, "Synchronized", "")), 0);
  wait_for(&states, 0x11);
  CONTAINS(states.data, "Synchronized");
  EXPECT(HCN(close_function, "HcnUnregisterGuestNetworkServiceCallback")(registration), 0);
  reserve_ports(service);
  EXPECT(close_object("GuestNetworkService", opened), 0);
  EXPECT(delete_object("GuestNetworkService", id), 0);
  EXPECT(delete_object("GuestNetworkService", id), 0x80070490);
  EXPECT(close_object("GuestNetworkService", service), 0);
}
