//go:build windows

package hcntest

import (
	"encoding/json"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
)

func acl(t *testing.T, setting hcn.AclPolicySetting) hcn.EndpointPolicy {
	t.Helper()
	return hcn.EndpointPolicy{Type: hcn.ACL, Settings: toJSON(t, setting)}
}

// The ACLs of a network policy: one port open for two subnets, the rest of TCP shut, everything out.
func TestAcls(t *testing.T) {
	for name, makeNetwork := range map[string]func(*testing.T) *hcn.HostComputeNetwork{
		"L2Bridge": bridgeNetwork,
		"Overlay":  overlayNetwork,
	} {
		t.Run(name, func(t *testing.T) {
			testAcls(t, podEndpoint(t, makeNetwork(t), "pod-a", "10.244.1.5"))
		})
	}
}

func testAcls(t *testing.T, endpoint *hcn.HostComputeEndpoint) {
	open := hcn.AclPolicySetting{
		Protocols:       "6",
		Action:          hcn.ActionTypeAllow,
		Direction:       hcn.DirectionTypeIn,
		RemoteAddresses: "10.244.0.0/16,192.168.1.0/24",
		LocalPorts:      "80,8080-8090",
		RuleType:        hcn.RuleTypeSwitch,
		Priority:        200,
	}
	shut := hcn.AclPolicySetting{
		Protocols: "6", Action: hcn.ActionTypeBlock, Direction: hcn.DirectionTypeIn,
		RuleType: hcn.RuleTypeSwitch, Priority: 300,
	}
	out := hcn.AclPolicySetting{
		Action: hcn.ActionTypeAllow, Direction: hcn.DirectionTypeOut, RuleType: hcn.RuleTypeSwitch, Priority: 400,
	}
	all := []hcn.EndpointPolicy{acl(t, open), acl(t, shut), acl(t, out)}
	mustDo(t, "adding ACLs", endpoint.ApplyPolicy(hcn.RequestTypeAdd, hcn.PolicyEndpointRequest{Policies: all}))
	found := policiesOf(t, endpoint.Id, hcn.ACL)
	if len(found) != len(all) {
		t.Fatalf("%d ACLs of %d: %s", len(found), len(all), toJSON(t, found))
	}
	var first hcn.AclPolicySetting
	mustDo(t, "reading an ACL", json.Unmarshal(found[0].Settings, &first))
	if first != open {
		t.Fatalf("%+v came back as %+v", open, first)
	}
	// An update replaces all policies of the endpoint that have the type of one of those given.
	update := hcn.PolicyEndpointRequest{Policies: []hcn.EndpointPolicy{acl(t, shut)}}
	mustDo(t, "updating ACLs", endpoint.ApplyPolicy(hcn.RequestTypeUpdate, update))
	if now := policiesOf(t, endpoint.Id, hcn.ACL); len(now) != 1 {
		t.Fatalf("after the update: %s", toJSON(t, now))
	}
	mustDo(t, "removing an ACL", endpoint.ApplyPolicy(hcn.RequestTypeRemove, update))
	if now := policiesOf(t, endpoint.Id, hcn.ACL); len(now) != 0 {
		t.Fatalf("after the removal: %s", toJSON(t, now))
	}
}
