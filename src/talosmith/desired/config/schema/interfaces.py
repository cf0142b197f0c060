"""The shape of `machine.network.interfaces`, the older way to describe a node's network. See `notation`."""

from __future__ import annotations

TABLES: dict[str, str] = {
    "Route": """
network  s    !
gateway  s    !
source   s
metric   u32
mtu      u32
""",
    "Vip": """
ip            s
equinixMetal  *.
    apiToken  s  !  $
hcloud        *.
    apiToken  s  !  $
""",
    "DhcpOptions": """
routeMetric  u32  !
ipv4         b
ipv6         b
duidv6       s
""",
    "DeviceSelector": """
busPath        s
hardwareAddr   s
permanentAddr  s
pciID          s
driver         s
physical       b
""",
    "Bond": """
interfaces       []s  !
deviceSelectors  []@DeviceSelector
arpIPTarget      []s
mode             s  !
xmitHashPolicy   s
lacpRate         s
adActorSystem    s
arpValidate      s
arpAllTargets    s
primary          s
primaryReselect  s
failOverMac      s
adSelect         s
miimon           u32
updelay          u32
downdelay        u32
arpInterval      u32
resendIgmp       u32
minLinks         u32
lpInterval       u32
packetsPerSlave  u32
numPeerNotif     u8
tlbDynamicLb     u8
allSlavesActive  u8
useCarrier       b
adActorSysPrio   u16
adUserPortKey    u16
peerNotifyDelay  u32
""",
    "Interface": """
interface       s
deviceSelector  *@DeviceSelector
addresses       []s
cidr            s
routes          [*]@Route
bond            *@Bond
bridge          *.
    interfaces  []s  !
    stp         *.
        enabled  b
    vlan        *.
        vlanFiltering  b
bridgePort      *.
    master  s
vlans           [*].  ~vlanId
    addresses    []s
    cidr         s
    routes       [*]@Route  !
    dhcp         b
    vlanId       u16  !
    mtu          u32
    vip          *@Vip
    dhcpOptions  *@DhcpOptions
mtu             int
dhcp            b
ignore          b
dummy           b
dhcpOptions     *@DhcpOptions
wireguard       *.
    privateKey    s  $
    listenPort    int
    firewallMark  int
    peers         [*].
        publicKey                    s
        endpoint                     s
        persistentKeepaliveInterval  duration
        allowedIPs                   []s
vip             *@Vip
""",
}
