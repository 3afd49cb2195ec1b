//go:build windows

package hcntest

import (
	"errors"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
)

func TestSdnRouteLife(t *testing.T) {
	endpoint := podEndpoint(t, bridgeNetwork(t), "pod-a", "10.244.1.5")
	route, err := hcn.AddRoute([]hcn.HostComputeEndpoint{*endpoint}, "169.254.169.0/24", "10.244.1.9", false)
	mustDo(t, "adding a route", err)
	deleteAtEnd(t, route)
	wanted := hcn.SDNRoutePolicySetting{DestinationPrefix: "169.254.169.0/24", NextHop: "10.244.1.9"}
	found := must[*hcn.HostComputeRoute](t, "getting it by id")(hcn.GetRouteByID(route.ID))
	if len(found.Setting) != 1 || found.Setting[0] != wanted || !namesSame(found.HostComputeEndpoints, endpoint.Id) {
		t.Fatalf("found: %+v", found)
	}
	list := must[[]hcn.HostComputeRoute](t, "listing")(hcn.ListRoutes())
	if len(list) != 1 || list[0].ID != route.ID {
		t.Fatalf("listed: %+v", list)
	}
	mustDo(t, "deleting", route.Delete())
	_, err = hcn.GetRouteByID(route.ID)
	var notFound hcn.RouteNotFoundError
	if !errors.As(err, &notFound) || !hcn.IsNotFoundError(err) {
		t.Fatalf("after its delete: %v", err)
	}
}
