//go:build windows

// Package podnet gives pods their place in a network of a Windows node, as a CNI plugin does.
package podnet

import (
	"encoding/json"
	"fmt"

	"github.com/Microsoft/hcsshim/hcn"
)

var v2 = hcn.SchemaVersion{Major: 2, Minor: 0}

// EnsureNetwork returns the L2Bridge network of this name, and makes it when it is not there.
func EnsureNetwork(name, subnet, gateway string) (*hcn.HostComputeNetwork, error) {
	network, err := hcn.GetNetworkByName(name)
	if err == nil && network.Type != hcn.L2Bridge {
		return nil, fmt.Errorf("network %s is there already, with type %s", name, network.Type)
	}
	if err == nil || !hcn.IsNotFoundError(err) {
		return network, err
	}
	adapter, err := json.Marshal(hcn.NetAdapterNameNetworkPolicySetting{NetworkAdapterName: "Ethernet"})
	if err != nil {
		return nil, err
	}
	wanted := &hcn.HostComputeNetwork{
		Name:     name,
		Type:     hcn.L2Bridge,
		Policies: []hcn.NetworkPolicy{{Type: hcn.NetAdapterName, Settings: adapter}},
		Ipams: []hcn.Ipam{{Type: "Static", Subnets: []hcn.Subnet{{
			IpAddressPrefix: subnet,
			Routes:          []hcn.Route{{NextHop: gateway, DestinationPrefix: "0.0.0.0/0"}},
		}}}},
		SchemaVersion: v2,
	}
	return wanted.Create()
}

// AddPod makes the endpoint of a pod and attaches it to the pod's namespace. Adding a pod again changes nothing.
func AddPod(network *hcn.HostComputeNetwork, pod, namespace string) (*hcn.HostComputeEndpoint, error) {
	endpoint, err := hcn.GetEndpointByName(pod)
	if hcn.IsNotFoundError(err) {
		endpoint, err = network.CreateEndpoint(&hcn.HostComputeEndpoint{Name: pod, SchemaVersion: v2})
	}
	if err != nil || endpoint.HostComputeNamespace == namespace {
		return endpoint, err
	}
	if err := hcn.AddNamespaceEndpoint(namespace, endpoint.Id); err != nil {
		return nil, err
	}
	return hcn.GetEndpointByID(endpoint.Id)
}

// DeletePod takes the endpoint of a pod away. It may be gone already.
func DeletePod(pod string) error {
	endpoint, err := hcn.GetEndpointByName(pod)
	if hcn.IsNotFoundError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return endpoint.Delete()
}
