"""The shape of the documents about the network. See `notation`."""

from __future__ import annotations

SHARED: dict[str, str] = {
    "Link": """
up         b
mtu        u32
addresses  [].
    address        plain-prefix  !
    routePriority  *u32
routes     [].
    destination  prefix
    gateway      address
    source       address
    metric       u32
    mtu          u32
    table        table
multicast  b
""",
}

KINDS: dict[str, str] = {
    "HostnameConfig": """
auto      *auto-hostname
hostname  s
""",
    "LinkConfig": """
name  s  !
<Link
""",
    "LinkAliasConfig": """
name      s  !
selector  .
    match  cel
""",
    "BondConfig": """
name             s  !
hardwareAddr     mac
links            []s
bondMode         *bond-mode
miimon           *u32
updelay          *u32
downdelay        *u32
useCarrier       b
xmitHashPolicy   *hash-policy
arpInterval      *u32
arpIpTargets     []address
nsIp6Targets     []address
arpValidate      *arp-validate
arpAllTargets    *arp-targets
lacpRate         *lacp-rate
failOverMac      *fail-over-mac
adSelect         *ad-select
adActorSysPrio   *u16
adUserPortKey    *u16
adLACPActive     *lacp-active
primaryReselect  *reselect
resendIGMP       *u32
minLinks         *u32
lpInterval       *u32
packetsPerSlave  *u32
numPeerNotif     *u8
tlbLogicalLb     *u8
allSlavesActive  *u8
peerNotifDelay   *u32
missedMax        *u8
<Link
""",
    "BridgeConfig": """
name          s  !
hardwareAddr  mac
links         []s
stp           .
    enabled  b
vlan          .
    filtering  b
<Link
""",
    "VLANConfig": """
name      s  !
vlanID    u16
vlanMode  *vlan-mode
parent    s
<Link
""",
    "DummyLinkConfig": """
name          s  !
hardwareAddr  mac
<Link
""",
    "VRFConfig": """
name          s  !
hardwareAddr  mac
links         []s
table         table  !
<Link
""",
    "WireguardConfig": """
name          s  !
privateKey    s  $
listenPort    int
firewallMark  int
peers         [].
    publicKey                    s
    presharedKey                 s  $
    endpoint                     address-port
    persistentKeepaliveInterval  duration
    allowedIPs                   []prefix
<Link
""",
    "DHCPv4Config": """
name              s  !
routeMetric       u32
ignoreHostname    b
ignoreRoutes      b
clientIdentifier  *client-id
duidRaw           mac
""",
    "DHCPv6Config": """
name              s  !
routeMetric       u32
ignoreHostname    b
clientIdentifier  *client-id
duidRaw           mac
""",
    "StaticHostConfig": """
name       s    !
hostnames  []s  !
""",
    "ResolverConfig": """
nameservers    [].
    address        address  !
    protocol       dns-protocol
    tlsServerName  s
searchDomains  .
    domains         []s  =  ?
    disableDefault  b
hostDNS        .
    enabled               b
    forwardKubeDNSToHost  b
    resolveMemberNames    b
""",
    "TimeSyncConfig": """
enabled      b
bootTimeout  duration
ntp          *.
    servers  []s
    useNTS   b
ptp          *.
    devices  []s
""",
    "Layer2VIPConfig": """
name  s  !
link  s  !
""",
    "HCloudVIPConfig": """
name      s  !
link      s  !
apiToken  s  !  $
""",
    "BlackholeRouteConfig": """
name    s  !
metric  u32
""",
    "RoutingRuleConfig": """
name     s  !
src      prefix
dst      prefix
table    table  !
action   rule-action
iifName  s
oifName  s
fwMark   u32
fwMask   u32
""",
    "TCPProbeConfig": """
name              s  !
interval          duration
failureThreshold  int
endpoint          s  !
timeout           duration
""",
    "EthernetConfig": """
name       s  !
features   {}bool
rings      *.
    rx               *u32
    tx               *u32
    rx-mini          *u32
    rx-jumbo         *u32
    rx-buf-len       *u32
    cqe-size         *u32
    tx-push          b
    rx-push          b
    tx-push-buf-len  *u32
    tcp-data-split   b
channels   *.
    rx        *u32
    tx        *u32
    other     *u32
    combined  *u32
wakeOnLan  []wake
""",
    "NetworkDefaultActionConfig": """
ingress  default-action  !
""",
    "NetworkRuleConfig": """
name          s  !
portSelector  .  !
    ports     []ports   !  =
    protocol  protocol  !
ingress       [].  !  =
    subnet  plain-prefix  !
    except  prefix
""",
    "KubeSpanConfig": """
enabled                      b
advertiseKubernetesNetworks  b
allowDownPeerBypass          b
harvestExtraEndpoints        b
mtu                          *u32
filters                      *.
    endpoints                  []s
    excludeAdvertisedNetworks  []prefix
""",
    "KubeSpanEndpointsConfig": """
extraAnnouncedEndpoints  []address-port  !
""",
    "BGPInstanceConfig": """
name           s  !
vrf            s
localASN       u32  !
routerID       address
routeSource    address
advertise      []s  =
multipath      b
maxPaths       u8
installRoutes  b
importRoutes   [].  =
    bgpInstance  s  !
    prefixes     []prefix  !
neighbors      [].  =
    address   address
    link      s
    peerASN   u32
    localASN  u32
    passive   bool
    holdTime  duration
    bfd       *.
        transmitInterval  duration
        receiveInterval   duration
        detectMultiplier  u8
""",
    "HTTPProbeConfig": """
name              s  !
interval          duration
failureThreshold  int
url               url  !
timeout           duration
""",
    "VethConfig": """
name  s  !
peer  .  !
    name  s  !
    <Link
<Link
""",
}
