// A northbound database as ovn-kubernetes writes it for two nodes (control-planes.md §4.2), as commands for ovn-nbctl.

export const KUBERNETES: string = String.raw`
nb lr-add ovn_cluster_router
nb ls-add join
nb lrp-add ovn_cluster_router rtoj-ovn_cluster_router 0a:58:64:40:00:01 100.64.0.1/16
nb lsp-add join jtor-ovn_cluster_router -- lsp-set-type jtor-ovn_cluster_router router -- lsp-set-addresses jtor-ovn_cluster_router router -- lsp-set-options jtor-ovn_cluster_router router-port=rtoj-ovn_cluster_router
i=0
for n in win1 win2; do
 i=$((i+1)); 
 nb ls-add $n -- set logical_switch $n other_config:subnet=10.128.$i.0/24 other_config:exclude_ips=10.128.$i.2
 nb lrp-add ovn_cluster_router rtos-$n 0a:58:0a:80:0$i:01 10.128.$i.1/24
 nb lsp-add $n stor-$n -- lsp-set-type stor-$n router -- lsp-set-addresses stor-$n router -- lsp-set-options stor-$n router-port=rtos-$n
 nb lsp-add $n k8s-$n -- lsp-set-addresses k8s-$n "0a:58:0a:80:0$i:02 10.128.$i.2"
 for p in 5 6; do nb lsp-add $n default_p$i$p -- lsp-set-addresses default_p$i$p "0a:58:0a:80:0$i:0$p 10.128.$i.$p" -- lsp-set-port-security default_p$i$p "0a:58:0a:80:0$i:0$p 10.128.$i.$p"  -- lsp-set-options default_p$i$p requested-chassis=$n; done
 sb chassis-add $n geneve 192.168.1.1$i -- set chassis $n other_config:ct-no-masked-label=true other_config:ovn-ct-lb-related=true; nb lrp-set-gateway-chassis rtos-$n $n 1
 nb lr-add GR_$n -- set logical_router GR_$n options:chassis=$n options:lb_force_snat_ip=router_ip options:snat-ct-zone=0 options:dynamic_neigh_routers=false options:always_learn_from_arp_request=false
 nb lrp-add GR_$n rtoj-GR_$n 0a:58:64:40:00:0$((i+1)) 100.64.0.$((i+1))/16
 nb lsp-add join jtor-GR_$n -- lsp-set-type jtor-GR_$n router -- lsp-set-addresses jtor-GR_$n router -- lsp-set-options jtor-GR_$n router-port=rtoj-GR_$n
 nb ls-add ext_$n
 nb lsp-add ext_$n br-ex_$n -- lsp-set-type br-ex_$n localnet -- lsp-set-addresses br-ex_$n unknown -- lsp-set-options br-ex_$n network_name=physnet
 nb lrp-add GR_$n rtoe-GR_$n 0a:58:c0:a8:01:1$i 192.168.1.1$i/24
 nb lsp-add ext_$n etor-GR_$n -- lsp-set-type etor-GR_$n router -- lsp-set-addresses etor-GR_$n router -- lsp-set-options etor-GR_$n router-port=rtoe-GR_$n nat-addresses=router exclude-lb-vips-from-garp=true
 nb lr-route-add GR_$n 10.128.0.0/16 100.64.0.1
 nb lr-route-add GR_$n 0.0.0.0/0 192.168.1.1 rtoe-GR_$n
 nb lr-route-add ovn_cluster_router 100.64.0.$((i+1)) 100.64.0.$((i+1))
 nb --policy=src-ip lr-route-add ovn_cluster_router 10.128.$i.0/24 100.64.0.$((i+1))
 nb lr-nat-add GR_$n snat 192.168.1.1$i 10.128.0.0/16
 nb lr-nat-add GR_$n snat 192.168.1.1$i 100.64.0.0/16
 nb lr-policy-add ovn_cluster_router 1004 "inport == \"rtos-$n\" && ip4.dst == 192.168.1.1$i /* $n */" reroute 10.128.$i.2
done
nb lr-policy-add ovn_cluster_router 102 'ip4.src == 10.128.0.0/16 && ip4.dst == 10.128.0.0/16' allow
nb lb-add web 10.96.0.10:80 10.128.1.5:8080,10.128.2.5:8080 tcp
nb lb-add none 10.96.0.11:80 "" tcp
nb lb-add dns 10.96.0.13:53 10.128.1.5:53 udp
nb lb-add np 192.168.1.11:30080 10.128.1.5:8080,10.128.2.5:8080 tcp
for lb in web none dns np; do nb set load_balancer $lb options:reject=true options:event=false options:hairpin_snat_ip=169.254.169.5; done
nb set load_balancer web options:affinity_timeout=10800
nb create load_balancer_group name=clusterLBGroup load_balancer=$(nb --bare --columns=_uuid find load_balancer name=web),$(nb --bare --columns=_uuid find load_balancer name=none),$(nb --bare --columns=_uuid find load_balancer name=dns)
G=$(nb --bare --columns=_uuid find load_balancer_group name=clusterLBGroup)
for n in win1 win2; do nb set logical_switch $n load_balancer_group=$G; nb set logical_router GR_$n load_balancer_group=$G; done
nb lr-lb-add GR_win1 np; nb ls-lb-add win1 np
nb pg-add deny default_p15 
nb pg-add allow default_p15
nb create address_set name=friends addresses='"10.128.2.5"'
nb acl-add deny to-lport 1000 'outport == @deny' drop
nb acl-add deny to-lport 1001 'outport == @deny && (arp || nd)' allow
nb --name=NPx acl-add allow to-lport 1001 'outport == @allow && ip4.src == {$friends} && tcp && tcp.dst==8080' allow-related
nb --apply-after-lb acl-add deny from-lport 1000 'inport == @deny' drop
nb --apply-after-lb acl-add deny from-lport 1001 'inport == @deny && (arp || nd)' allow
nb --apply-after-lb acl-add allow from-lport 1001 'inport == @allow && ip4.dst == 10.128.2.0/24' allow-related
`;
