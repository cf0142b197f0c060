# Made by `python -m tools.protos`; the style and the types here are not ours to judge.
# ruff: noqa
# fmt: off
# mypy: disable-error-code="type-arg,valid-type"
import google.protobuf.empty_pb2
import talosmith.talos.proto.cluster_pb2
import talosmith.talos.proto.common_pb2
import talosmith.talos.proto.cosi_pb2
import talosmith.talos.proto.image_pb2
import talosmith.talos.proto.inspect_pb2
import talosmith.talos.proto.lifecycle_pb2
import talosmith.talos.proto.machine_config_pb2
import talosmith.talos.proto.machine_containers_pb2
import talosmith.talos.proto.machine_etcd_pb2
import talosmith.talos.proto.machine_events_pb2
import talosmith.talos.proto.machine_files_pb2
import talosmith.talos.proto.machine_power_pb2
import talosmith.talos.proto.machine_services_pb2
import talosmith.talos.proto.machine_system_pb2
import talosmith.talos.proto.storage_pb2
import talosmith.talos.proto.time_pb2
from grpclib.client import Channel, StreamStreamMethod, StreamUnaryMethod, UnaryStreamMethod, UnaryUnaryMethod

class ClusterServiceStub:
    def __init__(self, channel: Channel) -> None: ...
    HealthCheck: UnaryStreamMethod[talosmith.talos.proto.cluster_pb2.HealthCheckRequest, talosmith.talos.proto.cluster_pb2.HealthCheckProgress]

class StateStub:
    def __init__(self, channel: Channel) -> None: ...
    Get: UnaryUnaryMethod[talosmith.talos.proto.cosi_pb2.GetRequest, talosmith.talos.proto.cosi_pb2.GetResponse]
    List: UnaryStreamMethod[talosmith.talos.proto.cosi_pb2.ListRequest, talosmith.talos.proto.cosi_pb2.ListResponse]
    Create: UnaryUnaryMethod[talosmith.talos.proto.cosi_pb2.CreateRequest, talosmith.talos.proto.cosi_pb2.CreateResponse]
    Update: UnaryUnaryMethod[talosmith.talos.proto.cosi_pb2.UpdateRequest, talosmith.talos.proto.cosi_pb2.UpdateResponse]
    Destroy: UnaryUnaryMethod[talosmith.talos.proto.cosi_pb2.DestroyRequest, talosmith.talos.proto.cosi_pb2.DestroyResponse]
    Watch: UnaryStreamMethod[talosmith.talos.proto.cosi_pb2.WatchRequest, talosmith.talos.proto.cosi_pb2.WatchResponse]

class ImageServiceStub:
    def __init__(self, channel: Channel) -> None: ...
    List: UnaryStreamMethod[talosmith.talos.proto.image_pb2.ImageServiceListRequest, talosmith.talos.proto.image_pb2.ImageServiceListResponse]
    Pull: UnaryStreamMethod[talosmith.talos.proto.image_pb2.ImageServicePullRequest, talosmith.talos.proto.image_pb2.ImageServicePullResponse]
    Import: StreamUnaryMethod[talosmith.talos.proto.image_pb2.ImageServiceImportRequest, talosmith.talos.proto.image_pb2.ImageServiceImportResponse]
    Remove: UnaryUnaryMethod[talosmith.talos.proto.image_pb2.ImageServiceRemoveRequest, google.protobuf.empty_pb2.Empty]

class InspectServiceStub:
    def __init__(self, channel: Channel) -> None: ...
    ControllerRuntimeDependencies: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.inspect_pb2.ControllerRuntimeDependenciesResponse]

class LifecycleServiceStub:
    def __init__(self, channel: Channel) -> None: ...
    Install: UnaryStreamMethod[talosmith.talos.proto.lifecycle_pb2.LifecycleServiceInstallRequest, talosmith.talos.proto.lifecycle_pb2.LifecycleServiceInstallResponse]
    Upgrade: UnaryStreamMethod[talosmith.talos.proto.lifecycle_pb2.LifecycleServiceUpgradeRequest, talosmith.talos.proto.lifecycle_pb2.LifecycleServiceUpgradeResponse]

class MachineServiceStub:
    def __init__(self, channel: Channel) -> None: ...
    ApplyConfiguration: UnaryUnaryMethod[talosmith.talos.proto.machine_config_pb2.ApplyConfigurationRequest, talosmith.talos.proto.machine_config_pb2.ApplyConfigurationResponse]
    Bootstrap: UnaryUnaryMethod[talosmith.talos.proto.machine_config_pb2.BootstrapRequest, talosmith.talos.proto.machine_config_pb2.BootstrapResponse]
    Containers: UnaryUnaryMethod[talosmith.talos.proto.machine_containers_pb2.ContainersRequest, talosmith.talos.proto.machine_containers_pb2.ContainersResponse]
    Copy: UnaryStreamMethod[talosmith.talos.proto.machine_files_pb2.CopyRequest, talosmith.talos.proto.common_pb2.Data]
    CPUFreqStats: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_system_pb2.CPUFreqStatsResponse]
    CPUInfo: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_system_pb2.CPUInfoResponse]
    DiskStats: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_system_pb2.DiskStatsResponse]
    Dmesg: UnaryStreamMethod[talosmith.talos.proto.machine_containers_pb2.DmesgRequest, talosmith.talos.proto.common_pb2.Data]
    Events: UnaryStreamMethod[talosmith.talos.proto.machine_events_pb2.EventsRequest, talosmith.talos.proto.machine_events_pb2.Event]
    EtcdMemberList: UnaryUnaryMethod[talosmith.talos.proto.machine_etcd_pb2.EtcdMemberListRequest, talosmith.talos.proto.machine_etcd_pb2.EtcdMemberListResponse]
    EtcdRemoveMemberByID: UnaryUnaryMethod[talosmith.talos.proto.machine_etcd_pb2.EtcdRemoveMemberByIDRequest, talosmith.talos.proto.machine_etcd_pb2.EtcdRemoveMemberByIDResponse]
    EtcdLeaveCluster: UnaryUnaryMethod[talosmith.talos.proto.machine_etcd_pb2.EtcdLeaveClusterRequest, talosmith.talos.proto.machine_etcd_pb2.EtcdLeaveClusterResponse]
    EtcdForfeitLeadership: UnaryUnaryMethod[talosmith.talos.proto.machine_etcd_pb2.EtcdForfeitLeadershipRequest, talosmith.talos.proto.machine_etcd_pb2.EtcdForfeitLeadershipResponse]
    EtcdRecover: StreamUnaryMethod[talosmith.talos.proto.common_pb2.Data, talosmith.talos.proto.machine_etcd_pb2.EtcdRecoverResponse]
    EtcdSnapshot: UnaryStreamMethod[talosmith.talos.proto.machine_etcd_pb2.EtcdSnapshotRequest, talosmith.talos.proto.common_pb2.Data]
    EtcdAlarmList: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_etcd_pb2.EtcdAlarmListResponse]
    EtcdAlarmDisarm: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_etcd_pb2.EtcdAlarmDisarmResponse]
    EtcdDefragment: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_etcd_pb2.EtcdDefragmentResponse]
    EtcdStatus: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_etcd_pb2.EtcdStatusResponse]
    Hostname: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_system_pb2.HostnameResponse]
    Kubeconfig: UnaryStreamMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.common_pb2.Data]
    List: UnaryStreamMethod[talosmith.talos.proto.machine_files_pb2.ListRequest, talosmith.talos.proto.machine_files_pb2.FileInfo]
    DiskUsage: UnaryStreamMethod[talosmith.talos.proto.machine_files_pb2.DiskUsageRequest, talosmith.talos.proto.machine_files_pb2.DiskUsageInfo]
    LoadAvg: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_system_pb2.LoadAvgResponse]
    Logs: UnaryStreamMethod[talosmith.talos.proto.machine_containers_pb2.LogsRequest, talosmith.talos.proto.common_pb2.Data]
    LogsContainers: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_containers_pb2.LogsContainersResponse]
    Memory: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_system_pb2.MemoryResponse]
    Mounts: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_files_pb2.MountsResponse]
    NetworkDeviceStats: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_system_pb2.NetworkDeviceStatsResponse]
    Processes: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_system_pb2.ProcessesResponse]
    Read: UnaryStreamMethod[talosmith.talos.proto.machine_files_pb2.ReadRequest, talosmith.talos.proto.common_pb2.Data]
    Reboot: UnaryUnaryMethod[talosmith.talos.proto.machine_power_pb2.RebootRequest, talosmith.talos.proto.machine_power_pb2.RebootResponse]
    Restart: UnaryUnaryMethod[talosmith.talos.proto.machine_containers_pb2.RestartRequest, talosmith.talos.proto.machine_containers_pb2.RestartResponse]
    Rollback: UnaryUnaryMethod[talosmith.talos.proto.machine_power_pb2.RollbackRequest, talosmith.talos.proto.machine_power_pb2.RollbackResponse]
    Reset: UnaryUnaryMethod[talosmith.talos.proto.machine_power_pb2.ResetRequest, talosmith.talos.proto.machine_power_pb2.ResetResponse]
    ServiceList: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_services_pb2.ServiceListResponse]
    ServiceRestart: UnaryUnaryMethod[talosmith.talos.proto.machine_services_pb2.ServiceRestartRequest, talosmith.talos.proto.machine_services_pb2.ServiceRestartResponse]
    ServiceStart: UnaryUnaryMethod[talosmith.talos.proto.machine_services_pb2.ServiceStartRequest, talosmith.talos.proto.machine_services_pb2.ServiceStartResponse]
    ServiceStop: UnaryUnaryMethod[talosmith.talos.proto.machine_services_pb2.ServiceStopRequest, talosmith.talos.proto.machine_services_pb2.ServiceStopResponse]
    Shutdown: UnaryUnaryMethod[talosmith.talos.proto.machine_power_pb2.ShutdownRequest, talosmith.talos.proto.machine_power_pb2.ShutdownResponse]
    Stats: UnaryUnaryMethod[talosmith.talos.proto.machine_containers_pb2.StatsRequest, talosmith.talos.proto.machine_containers_pb2.StatsResponse]
    SystemStat: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_system_pb2.SystemStatResponse]
    Upgrade: UnaryUnaryMethod[talosmith.talos.proto.machine_power_pb2.UpgradeRequest, talosmith.talos.proto.machine_power_pb2.UpgradeResponse]
    Version: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.machine_system_pb2.VersionResponse]
    GenerateClientConfiguration: UnaryUnaryMethod[talosmith.talos.proto.machine_config_pb2.GenerateClientConfigurationRequest, talosmith.talos.proto.machine_config_pb2.GenerateClientConfigurationResponse]
    ImageList: UnaryStreamMethod[talosmith.talos.proto.machine_containers_pb2.ImageListRequest, talosmith.talos.proto.machine_containers_pb2.ImageListResponse]
    ImagePull: UnaryUnaryMethod[talosmith.talos.proto.machine_containers_pb2.ImagePullRequest, talosmith.talos.proto.machine_containers_pb2.ImagePullResponse]

class StorageServiceStub:
    def __init__(self, channel: Channel) -> None: ...
    Disks: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.storage_pb2.DisksResponse]
    BlockDeviceWipe: UnaryUnaryMethod[talosmith.talos.proto.storage_pb2.BlockDeviceWipeRequest, talosmith.talos.proto.storage_pb2.BlockDeviceWipeResponse]

class TimeServiceStub:
    def __init__(self, channel: Channel) -> None: ...
    Time: UnaryUnaryMethod[google.protobuf.empty_pb2.Empty, talosmith.talos.proto.time_pb2.TimeResponse]
    TimeCheck: UnaryUnaryMethod[talosmith.talos.proto.time_pb2.TimeRequest, talosmith.talos.proto.time_pb2.TimeResponse]
