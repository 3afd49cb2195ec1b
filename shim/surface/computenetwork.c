/* The exports of computenetwork.dll (hcn.md §1.2, §1.3), each one call of the daemon. */
#include "../core/json.h"
#include "../core/notifications.h"
#include "exchange.h"

#include <stdio.h>
#include <string.h>

/* Its name in calls of the daemon. */
static const char *const KIND_NAMES[] = {
    [HANDLE_NETWORK] = "Network",         [HANDLE_ENDPOINT] = "Endpoint",
    [HANDLE_NAMESPACE] = "Namespace",     [HANDLE_LOAD_BALANCER] = "LoadBalancer",
    [HANDLE_SDN_ROUTE] = "SdnRoute",      [HANDLE_GUEST_NETWORK_SERVICE] = "GuestNetworkService",
};

static const char BAD_HANDLE[] = "The handle is not open, or is of another kind of object";
static const char NO_RESULT[] = "The place for the result is missing";
static const char NO_ID[] = "The id is missing";

/* A request that names an object, by its kind and by its handle. */
static bool begin_with_handle(text_buffer *request, handle_kind kind, void *handle) {
  char id[HANDLE_ID_SIZE];
  if (!handle_read(handle, kind, id)) return false;
  add_plain(request, "kind", KIND_NAMES[kind]);
  add_plain(request, "id", id);
  return true;
}

static hresult enumerate(handle_kind kind, const utf16 *query, utf16 **list, utf16 **record) {
  text_buffer request = {0};
  daemon_answer answer = {0};
  if (list == NULL) return refuse(E_INVALID_PARAMETER, NO_RESULT, record);
  add_plain(&request, "kind", KIND_NAMES[kind]);
  if (add_text(&request, "query", query, &answer)) call("enumerate", &request, &answer);
  text_free(&request);
  return give(&answer, list, record);
}

/* The handle of an object that the daemon has named or knows. */
static hresult open_handle(handle_kind kind, const char *id, void **handle, daemon_answer *answer, utf16 **record) {
  if (answer->code == 0) {
    *handle = handle_open(kind, id, NULL);
    if (*handle == NULL) daemon_refuse(answer, E_OUT_OF_MEMORY, "Too many handles are open");
  }
  return give(answer, NULL, record);
}

static hresult create(handle_kind kind, const char *network, const guid *id, const utf16 *settings, void **handle,
                      utf16 **record) {
  static const guid zero;
  char text[GUID_TEXT_SIZE];
  text_buffer request = {0};
  daemon_answer answer = {0};
  guid made;
  text_slice name;
  if (handle == NULL) return refuse(E_INVALID_PARAMETER, NO_RESULT, record);
  *handle = NULL;
  if (settings == NULL) return refuse(E_INVALID_PARAMETER, "The settings are missing", record);
  add_plain(&request, "kind", KIND_NAMES[kind]);
  if (network != NULL) add_plain(&request, "network", network);
  /* Zeros ask the service for an id, or for the one in the settings (hcn.md §1.1). */
  if (id != NULL && memcmp(id, &zero, sizeof zero) != 0) {
    format_guid(id, text);
    add_plain(&request, "id", text);
  }
  if (add_text(&request, "settings", settings, &answer)) call("create", &request, &answer);
  text_free(&request);
  if (answer.code == 0 && (!json_plain_string(answer.result, &name) || !parse_guid(name, &made))) {
    daemon_refuse(&answer, E_SERVER_UNAVAILABLE, "The service answered no id");
  }
  if (answer.code == 0) format_guid(&made, text);
  return open_handle(kind, text, handle, &answer, record);
}

static hresult open(handle_kind kind, const guid *id, void **handle, utf16 **record) {
  char text[GUID_TEXT_SIZE];
  text_buffer request = {0};
  daemon_answer answer = {0};
  if (handle == NULL) return refuse(E_INVALID_PARAMETER, NO_RESULT, record);
  *handle = NULL;
  if (id == NULL) return refuse(E_INVALID_PARAMETER, NO_ID, record);
  format_guid(id, text);
  add_plain(&request, "kind", KIND_NAMES[kind]);
  add_plain(&request, "id", text);
  call("query", &request, &answer);
  return open_handle(kind, text, handle, &answer, record);
}

static hresult modify(handle_kind kind, void *handle, const utf16 *settings, utf16 **record) {
  text_buffer request = {0};
  daemon_answer answer = {0};
  if (settings == NULL) return refuse(E_INVALID_PARAMETER, "The settings are missing", record);
  if (!begin_with_handle(&request, kind, handle)) return refuse(E_INVALID_PARAMETER, BAD_HANDLE, record);
  if (add_text(&request, "settings", settings, &answer)) call("modify", &request, &answer);
  text_free(&request);
  return give(&answer, NULL, record);
}

/* `operation` is `query`, or one that only endpoints have. */
static hresult ask(const char *operation, handle_kind kind, void *handle, const utf16 *query, utf16 **result,
                   utf16 **record) {
  text_buffer request = {0};
  daemon_answer answer = {0};
  if (result == NULL) return refuse(E_INVALID_PARAMETER, NO_RESULT, record);
  *result = NULL;
  if (!begin_with_handle(&request, kind, handle)) return refuse(E_INVALID_PARAMETER, BAD_HANDLE, record);
  /* Without a query it would look like opening a handle in `mullion wine --trace-calls`. */
  if (query == NULL) add_plain(&request, "query", "");
  if (add_text(&request, "query", query, &answer)) call(operation, &request, &answer);
  text_free(&request);
  return give(&answer, result, record);
}

static hresult delete(handle_kind kind, const guid *id, utf16 **record) {
  char text[GUID_TEXT_SIZE];
  text_buffer request = {0};
  daemon_answer answer = {0};
  if (id == NULL) return refuse(E_INVALID_PARAMETER, NO_ID, record);
  format_guid(id, text);
  add_plain(&request, "kind", KIND_NAMES[kind]);
  add_plain(&request, "id", text);
  call("delete", &request, &answer);
  return give(&answer, NULL, record);
}

static hresult close_handle(handle_kind kind, void *handle) {
  return handle_close(handle, kind, NULL) ? 0 : E_INVALID_PARAMETER;
}

/* What every kind of object has. Endpoints are created in a network, so creating stands by itself. */
#define OBJECT_EXPORTS(Name, Names, KIND)                                                                              \
  EXPORT hresult HcnEnumerate##Names(const utf16 *query, utf16 **list, utf16 **record) {                               \
    return enumerate(KIND, query, list, record);                                                                       \
  }                                                                                                                    \
  EXPORT hresult HcnOpen##Name(const guid *id, void **handle, utf16 **record) {                                        \
    return open(KIND, id, handle, record);                                                                             \
  }                                                                                                                    \
  EXPORT hresult HcnModify##Name(void *handle, const utf16 *settings, utf16 **record) {                                \
    return modify(KIND, handle, settings, record);                                                                     \
  }                                                                                                                    \
  EXPORT hresult HcnQuery##Name##Properties(void *handle, const utf16 *query, utf16 **properties, utf16 **record) {    \
    return ask("query", KIND, handle, query, properties, record);                                                      \
  }                                                                                                                    \
  EXPORT hresult HcnDelete##Name(const guid *id, utf16 **record) { return delete (KIND, id, record); }                 \
  EXPORT hresult HcnClose##Name(void *handle) { return close_handle(KIND, handle); }

#define CREATE_EXPORT(Name, KIND)                                                                                      \
  EXPORT hresult HcnCreate##Name(const guid *id, const utf16 *settings, void **handle, utf16 **record) {               \
    return create(KIND, NULL, id, settings, handle, record);                                                           \
  }

OBJECT_EXPORTS(Network, Networks, HANDLE_NETWORK)
CREATE_EXPORT(Network, HANDLE_NETWORK)
OBJECT_EXPORTS(Endpoint, Endpoints, HANDLE_ENDPOINT)
OBJECT_EXPORTS(Namespace, Namespaces, HANDLE_NAMESPACE)
CREATE_EXPORT(Namespace, HANDLE_NAMESPACE)
OBJECT_EXPORTS(LoadBalancer, LoadBalancers, HANDLE_LOAD_BALANCER)
CREATE_EXPORT(LoadBalancer, HANDLE_LOAD_BALANCER)
OBJECT_EXPORTS(SdnRoute, SdnRoutes, HANDLE_SDN_ROUTE)
CREATE_EXPORT(SdnRoute, HANDLE_SDN_ROUTE)
OBJECT_EXPORTS(GuestNetworkService, GuestNetworkServices, HANDLE_GUEST_NETWORK_SERVICE)
CREATE_EXPORT(GuestNetworkService, HANDLE_GUEST_NETWORK_SERVICE)

EXPORT hresult HcnCreateEndpoint(void *network, const guid *id, const utf16 *settings, void **handle, utf16 **record) {
  char name[HANDLE_ID_SIZE];
  if (handle != NULL) *handle = NULL;
  if (!handle_read(network, HANDLE_NETWORK, name)) return refuse(E_INVALID_PARAMETER, BAD_HANDLE, record);
  return create(HANDLE_ENDPOINT, name, id, settings, handle, record);
}

EXPORT hresult HcnQueryEndpointStats(void *endpoint, const utf16 *query, utf16 **stats, utf16 **record) {
  return ask("stats", HANDLE_ENDPOINT, endpoint, query, stats, record);
}

EXPORT hresult HcnQueryEndpointAddresses(void *endpoint, const utf16 *query, utf16 **addresses, utf16 **record) {
  return ask("addresses", HANDLE_ENDPOINT, endpoint, query, addresses, record);
}

/* Inferred: the parameters of the two hidden queries are those of an enumeration; no public text has them. */
static hresult query_service(const char *properties, utf16 **result, utf16 **record) {
  text_buffer request = {0};
  daemon_answer answer = {0};
  if (result == NULL) return refuse(E_INVALID_PARAMETER, NO_RESULT, record);
  add_plain(&request, "properties", properties);
  call("service", &request, &answer);
  return give(&answer, result, record);
}

EXPORT hresult HcnQueryFeatures(const utf16 *query, utf16 **features, utf16 **record) {
  (void)query;
  return query_service("Features", features, record);
}

EXPORT hresult HcnQueryMetrics(const utf16 *query, utf16 **metrics, utf16 **record) {
  (void)query;
  return query_service("Metrics", metrics, record);
}

static hresult register_for(handle_kind kind, const char *parameter, void *handle, notification_callback callback,
                            void *context, void **registration) {
  char id[HANDLE_ID_SIZE];
  char query[HANDLE_ID_SIZE + 32];
  if (registration == NULL) return E_INVALID_PARAMETER;
  *registration = NULL;
  if (callback == NULL || !handle_read(handle, kind, id)) return E_INVALID_PARAMETER;
  snprintf(query, sizeof query, "?%s=%s", parameter, id);
  return notifications_register(NOTIFICATIONS_OF_HNS, query, callback, context, registration);
}

EXPORT hresult HcnRegisterServiceCallback(notification_callback callback, void *context, void **registration) {
  if (registration == NULL) return E_INVALID_PARAMETER;
  *registration = NULL;
  if (callback == NULL) return E_INVALID_PARAMETER;
  return notifications_register(NOTIFICATIONS_OF_HNS, "", callback, context, registration);
}

EXPORT hresult HcnUnregisterServiceCallback(void *registration) { return notifications_unregister(registration); }

/* Inferred: as its documented twin of the guest network service. */
EXPORT hresult HcnRegisterNetworkCallback(void *network, notification_callback callback, void *context,
                                          void **registration) {
  return register_for(HANDLE_NETWORK, "network", network, callback, context, registration);
}

EXPORT hresult HcnUnregisterNetworkCallback(void *registration) { return notifications_unregister(registration); }

EXPORT hresult HcnRegisterGuestNetworkServiceCallback(void *service, notification_callback callback, void *context,
                                                      void **registration) {
  return register_for(HANDLE_GUEST_NETWORK_SERVICE, "guestNetworkService", service, callback, context, registration);
}

EXPORT hresult HcnUnregisterGuestNetworkServiceCallback(void *registration) {
  return notifications_unregister(registration);
}

/* HCN_PORT_RANGE_RESERVATION. */
typedef struct {
  uint16_t starting_port;
  uint16_t ending_port;
} port_range;

/* HCN_PORT_RANGE_ENTRY. */
typedef struct {
  guid owning_partition;
  guid target_partition;
  uint32_t protocol;
  uint64_t priority;
  uint32_t reservation_type;
  uint32_t sharing_flags;
  uint32_t delivery_mode;
  uint16_t starting_port;
  uint16_t ending_port;
} port_entry;

static uint64_t number_of(text_slice object, const char *name) {
  text_slice value;
  uint64_t number = 0;
  if (json_member(object, name, &value)) json_number(value, &number);
  return number;
}

static guid guid_of(text_slice object, const char *name) {
  text_slice value;
  text_slice text;
  guid id = {0};
  if (json_member(object, name, &value) && json_plain_string(value, &text)) parse_guid(text, &id);
  return id;
}

/* Makes the call of a request that is complete but for its end, and opens the handle of the reservation. */
static hresult reserve(text_buffer *request, port_range *range, void **reservation) {
  daemon_answer answer = {0};
  char id[GUID_TEXT_SIZE];
  call("reserve-ports", request, &answer);
  if (answer.code == 0) {
    guid name = guid_of(answer.result, "reservation");
    format_guid(&name, id);
    range->starting_port = (uint16_t)number_of(answer.result, "startingPort");
    range->ending_port = (uint16_t)number_of(answer.result, "endingPort");
  }
  return open_handle(HANDLE_PORT_RESERVATION, id, reservation, &answer, NULL);
}

EXPORT hresult HcnReserveGuestNetworkServicePort(void *service, uint32_t protocol, uint32_t access, uint16_t port,
                                                 void **reservation) {
  text_buffer request = {0};
  port_range range;
  if (reservation == NULL) return E_INVALID_PARAMETER;
  *reservation = NULL;
  if (!begin_with_handle(&request, HANDLE_GUEST_NETWORK_SERVICE, service)) return E_INVALID_PARAMETER;
  add_number(&request, "protocol", protocol);
  add_number(&request, "access", access);
  add_number(&request, "port", port);
  return reserve(&request, &range, reservation);
}

EXPORT hresult HcnReserveGuestNetworkServicePortRange(void *service, uint16_t count, port_range *range,
                                                      void **reservation) {
  text_buffer request = {0};
  if (reservation == NULL || range == NULL) return E_INVALID_PARAMETER;
  *reservation = NULL;
  *range = (port_range){0};
  if (!begin_with_handle(&request, HANDLE_GUEST_NETWORK_SERVICE, service)) return E_INVALID_PARAMETER;
  add_number(&request, "portCount", count);
  return reserve(&request, range, reservation);
}

EXPORT hresult HcnReleaseGuestNetworkServicePortReservationHandle(void *reservation) {
  char id[HANDLE_ID_SIZE];
  text_buffer request = {0};
  daemon_answer answer = {0};
  if (!handle_read(reservation, HANDLE_PORT_RESERVATION, id)) return E_INVALID_PARAMETER;
  add_plain(&request, "reservation", id);
  call("release-ports", &request, &answer);
  if (answer.code == 0) handle_close(reservation, HANDLE_PORT_RESERVATION, NULL);
  return give(&answer, NULL, NULL);
}

static port_entry read_entry(text_slice entry) {
  return (port_entry){
      .owning_partition = guid_of(entry, "OwningPartitionId"),
      .target_partition = guid_of(entry, "TargetPartitionId"),
      .protocol = (uint32_t)number_of(entry, "Protocol"),
      .priority = number_of(entry, "Priority"),
      .reservation_type = (uint32_t)number_of(entry, "ReservationType"),
      .sharing_flags = (uint32_t)number_of(entry, "SharingFlags"),
      .delivery_mode = (uint32_t)number_of(entry, "DeliveryMode"),
      .starting_port = (uint16_t)number_of(entry, "StartingPort"),
      .ending_port = (uint16_t)number_of(entry, "EndingPort"),
  };
}

EXPORT hresult HcnEnumerateGuestNetworkPortReservations(uint32_t *count, port_entry **entries) {
  text_buffer request = {0};
  daemon_answer answer = {0};
  text_slice entry;
  size_t found = 0;
  if (count == NULL || entries == NULL) return E_INVALID_PARAMETER;
  *count = 0;
  *entries = NULL;
  call("port-reservations", &request, &answer);
  for (size_t cursor = 0; json_next(answer.result, &cursor, &entry);) found++;
  if (found > 0 && (*entries = platform_task_alloc(found * sizeof **entries)) == NULL) {
    daemon_refuse(&answer, E_OUT_OF_MEMORY, "The list does not fit into memory");
  }
  if (*entries != NULL) {
    for (size_t cursor = 0; json_next(answer.result, &cursor, &entry);) (*entries)[(*count)++] = read_entry(entry);
  }
  return give(&answer, NULL, NULL);
}

EXPORT void HcnFreeGuestNetworkPortReservations(port_entry *entries) { platform_task_free(entries); }
