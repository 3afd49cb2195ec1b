//go:build windows

package hcntest

import (
	"slices"
	"testing"

	"github.com/Microsoft/hcsshim/hcn"
)

// What containerd and a CNI plugin do for a pod, from its namespace to its end.
func TestPodLife(t *testing.T) {
	network := bridgeNetwork(t)
	namespace := must[*hcn.HostComputeNamespace](t, "creating a namespace")(hcn.NewNamespace(hcn.NamespaceTypeHost).Create())
	deleteAtEnd(t, namespace)
	nat := hcn.OutboundNatPolicySetting{Exceptions: []string{"10.244.0.0/16", "10.96.0.0/12"}}
	services := hcn.SDNRoutePolicySetting{DestinationPrefix: "10.96.0.0/12", NeedEncap: true}
	endpoint := &hcn.HostComputeEndpoint{
		Name:               "pod-a",
		HostComputeNetwork: network.Id,
		IpConfigurations:   []hcn.IpConfig{{IpAddress: "10.244.1.5", PrefixLength: 24}},
		Routes:             []hcn.Route{{NextHop: podGateway, DestinationPrefix: "0.0.0.0/0"}},
		Policies: []hcn.EndpointPolicy{
			{Type: hcn.OutBoundNAT, Settings: toJSON(t, nat)},
			{Type: hcn.SDNRoute, Settings: toJSON(t, services)},
		},
		Dns:           hcn.Dns{Domain: "default.svc.cluster.local", ServerList: []string{"10.96.0.2"}},
		SchemaVersion: v2,
	}
	made := must[*hcn.HostComputeEndpoint](t, "creating the endpoint")(endpoint.Create())
	deleteAtEnd(t, made)
	mustDo(t, "attaching", hcn.AddNamespaceEndpoint(namespace.Id, made.Id))

	ids := must[[]string](t, "asking for the endpoints")(hcn.GetNamespaceEndpointIds(namespace.Id))
	if !slices.Equal(ids, []string{made.Id}) {
		t.Fatalf("endpoints of the namespace: %v", ids)
	}
	attached := must[*hcn.HostComputeEndpoint](t, "getting the endpoint")(hcn.GetEndpointByID(made.Id))
	if attached.HostComputeNamespace != namespace.Id || attached.Dns.ServerList[0] != "10.96.0.2" {
		t.Fatalf("attached: %+v", attached)
	}
	if hcn.AddNamespaceEndpoint(namespace.Id, made.Id) == nil {
		t.Fatal("it could be attached twice")
	}

	mustDo(t, "detaching", hcn.RemoveNamespaceEndpoint(namespace.Id, made.Id))
	mustDo(t, "deleting the endpoint", made.Delete())
	mustDo(t, "deleting the namespace", namespace.Delete())
	_, err := hcn.GetNamespaceByID(namespace.Id)
	if !hcn.IsNotFoundError(err) {
		t.Fatalf("the namespace after its delete: %v", err)
	}
}

func TestPortMapping(t *testing.T) {
	nat := &hcn.HostComputeNetwork{
		Name: "nat", Type: hcn.NAT, Ipams: ipam(), SchemaVersion: v2,
	}
	network := must[*hcn.HostComputeNetwork](t, "creating a NAT network")(nat.Create())
	deleteAtEnd(t, network)
	mapping := hcn.PortMappingPolicySetting{Protocol: tcp, InternalPort: 80, ExternalPort: 8080}
	endpoint := func(name string) *hcn.HostComputeEndpoint {
		return &hcn.HostComputeEndpoint{
			Name:          name,
			Policies:      []hcn.EndpointPolicy{{Type: hcn.PortMapping, Settings: toJSON(t, mapping)}},
			SchemaVersion: v2,
		}
	}
	first := must[*hcn.HostComputeEndpoint](t, "publishing a port")(network.CreateEndpoint(endpoint("web")))
	deleteAtEnd(t, first)
	_, err := network.CreateEndpoint(endpoint("other"))
	if !hcn.IsPortAlreadyExistsError(err) {
		t.Fatalf("the same port again: %v", err)
	}
}
