//go:build windows

package hcntest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
)

func addService(t *testing.T, backEnds ...hcn.HostComputeEndpoint) *hcn.HostComputeLoadBalancer {
	t.Helper()
	made, err := hcn.AddLoadBalancer(backEnds, hcn.LoadBalancerFlagsDSR, hcn.LoadBalancerPortMappingFlagsNone, "",
		[]string{serviceVIP}, tcp, 8080, 80)
	mustDo(t, "creating a load balancer", err)
	deleteAtEnd(t, made)
	return made
}

// namesSame is true for the same ids in the same order. GUIDs have no letter case.
func namesSame(ids []string, wanted ...string) bool {
	return slices.EqualFunc(ids, wanted, strings.EqualFold)
}

// What kube-proxy does for a Service: create, back ends that come and go, delete.
func TestLoadBalancerLife(t *testing.T) {
	network := overlayNetwork(t)
	a := podEndpoint(t, network, "pod-a", "10.244.1.5")
	b := podEndpoint(t, network, "pod-b", "10.244.1.6")
	balancer := addService(t, *a)
	if balancer.Flags != hcn.LoadBalancerFlagsDSR || !slices.Equal(balancer.FrontendVIPs, []string{serviceVIP}) {
		t.Fatalf("made: %+v", balancer)
	}
	mapping := hcn.LoadBalancerPortMapping{Protocol: tcp, InternalPort: 8080, ExternalPort: 80}
	if len(balancer.PortMappings) != 1 || balancer.PortMappings[0] != mapping {
		t.Fatalf("its ports: %+v", balancer.PortMappings)
	}

	// hcsshim deletes it and makes it again with the id that it had; its list is what hcsshim was given last.
	more := must[*hcn.HostComputeLoadBalancer](t, "adding a back end")(balancer.AddEndpoint(b))
	if more.Id != balancer.Id || !namesSame(more.HostComputeEndpoints, a.Id, b.Id) {
		t.Fatalf("with a back end more: %+v", more)
	}
	fewer := must[*hcn.HostComputeLoadBalancer](t, "removing a back end")(balancer.RemoveEndpoint(b))
	if fewer.Id != balancer.Id || !namesSame(fewer.HostComputeEndpoints, a.Id) {
		t.Fatalf("with a back end fewer: %+v", fewer)
	}

	list := must[[]hcn.HostComputeLoadBalancer](t, "listing")(hcn.ListLoadBalancers())
	if len(list) != 1 || list[0].Id != fewer.Id {
		t.Fatalf("listed: %+v", list)
	}
	mustDo(t, "deleting", fewer.Delete())
	_, err := hcn.GetLoadBalancerByID(fewer.Id)
	var notFound hcn.LoadBalancerNotFoundError
	if !errors.As(err, &notFound) || !hcn.IsNotFoundError(err) {
		t.Fatalf("after its delete: %v", err)
	}
}

func TestLoadBalancerClash(t *testing.T) {
	endpoint := podEndpoint(t, overlayNetwork(t), "pod-a", "10.244.1.5")
	addService(t, *endpoint)
	_, err := hcn.AddLoadBalancer([]hcn.HostComputeEndpoint{*endpoint}, hcn.LoadBalancerFlagsDSR,
		hcn.LoadBalancerPortMappingFlagsNone, "", []string{serviceVIP}, tcp, 9090, 80)
	if !hcn.IsPortAlreadyExistsError(err) {
		t.Fatalf("the same address and port again: %v", err)
	}
}
