//go:build windows

package hcntest

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
)

// Policies that came with versions 13 to 15 of HNS: sets of addresses, tiers of ACLs, ACLs of a network.
func TestNewerPolicies(t *testing.T) {
	features := must[hcn.SupportedFeatures](t, "asking for features")(hcn.GetCachedSupportedFeatures())
	if !features.SetPolicy || !features.TierAcl || !features.NetworkACL {
		t.Skip("this version of HNS has not all of them")
	}
	network := bridgeNetwork(t)
	set := hcn.SetPolicySetting{Id: "set-1", Name: "clients", Type: hcn.SetPolicyTypeIpSet, Values: "10.244.1.5,10.244.1.6"}
	acl := hcn.NetworkACLPolicySetting{
		Protocols: "6", Action: hcn.ActionTypeBlock, Direction: hcn.DirectionTypeIn, LocalPorts: "22",
		RuleType: hcn.RuleTypeSwitch, Priority: 200,
	}
	request := hcn.PolicyNetworkRequest{Policies: []hcn.NetworkPolicy{
		{Type: hcn.SetPolicy, Settings: toJSON(t, set)},
		{Type: hcn.NetworkACL, Settings: toJSON(t, acl)},
	}}
	mustDo(t, "adding policies to the network", network.AddPolicy(request))
	changed := must[*hcn.HostComputeNetwork](t, "getting the network")(hcn.GetNetworkByID(network.Id))
	found := map[hcn.NetworkPolicyType]json.RawMessage{}
	for _, policy := range changed.Policies {
		found[policy.Type] = policy.Settings
	}
	var setNow hcn.SetPolicySetting
	mustDo(t, "reading the set", json.Unmarshal(found[hcn.SetPolicy], &setNow))
	var aclNow hcn.NetworkACLPolicySetting
	mustDo(t, "reading the ACL", json.Unmarshal(found[hcn.NetworkACL], &aclNow))
	if setNow != set || aclNow != acl {
		t.Fatalf("came back as %+v and %+v", setNow, aclNow)
	}

	endpoint := podEndpoint(t, network, "pod-a", "10.244.1.5")
	tier := hcn.TierAclPolicySetting{
		Name: "clients", Direction: hcn.DirectionTypeIn, Order: 1001,
		TierAclRules: []hcn.TierAclRule{
			{Id: "web", Protocols: "6", TierAclRuleAction: hcn.ActionTypeAllow, LocalPorts: "80", Priority: 2001},
			{Id: "rest", TierAclRuleAction: hcn.ActionTypeBlock, Priority: 2100},
		},
	}
	tiers := hcn.PolicyEndpointRequest{Policies: []hcn.EndpointPolicy{{Type: hcn.TierAcl, Settings: toJSON(t, tier)}}}
	mustDo(t, "adding a tier", endpoint.ApplyPolicy(hcn.RequestTypeAdd, tiers))
	policies := policiesOf(t, endpoint.Id, hcn.TierAcl)
	if len(policies) != 1 {
		t.Fatalf("%d tiers", len(policies))
	}
	var tierNow hcn.TierAclPolicySetting
	mustDo(t, "reading the tier", json.Unmarshal(policies[0].Settings, &tierNow))
	if !reflect.DeepEqual(tierNow, tier) {
		t.Fatalf("%+v came back as %+v", tier, tierNow)
	}
	mustDo(t, "removing it", endpoint.ApplyPolicy(hcn.RequestTypeRemove, tiers))
	if left := policiesOf(t, endpoint.Id, hcn.TierAcl); len(left) != 0 {
		t.Fatalf("left: %s", toJSON(t, left))
	}
}
