// Configuration of a node's programs. Paths are those inside the node, which node.ts explains.

import { stringify } from "yaml";
import { CLUSTER_DOMAIN, DNS_ADDRESS, nodeAddresses } from "./addresses.ts";

/** The node's state folder, as the node sees it. */
export const NODE_FOLDER = "/mnt/node";
/** The components' binaries, as the node sees them. */
export const NODE_BINARIES = "/mnt/bin";
export const CONTAINERD_SOCKET = "/run/containerd/containerd.sock";
export const KUBELET_LOG_FOLDER = "/var/log/pods";

/** Configuration of a node's containerd. @param paths of runc and of the folder with the CNI plugins, inside the node */
export function containerdConfig(paths: { runc: string; cni: string; pauseImage: string }): string {
  return `version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.nri.v1.nri"]
[grpc]
  address = "${CONTAINERD_SOCKET}"
[plugins."io.containerd.metadata.v1.bolt"]
  # A crash of the machine loses only a local instance, which can be made again in seconds.
  no_sync = true
[plugins."io.containerd.cri.v1.runtime"]
  # containerd may lack the right to lower its OOM score, and must not try.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      BinaryName = "${paths.runc}"
      SystemdCgroup = false
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["${paths.cni}"]
    conf_dir = "${NODE_FOLDER}/config/cni"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "${paths.pauseImage}"
`;
}

export function cniConfig(node: number): string {
  const { bridge, podNetwork } = nodeAddresses(node);
  const bridgePlugin = {
    type: "bridge",
    bridge,
    isGateway: true,
    ipMasq: false,
    hairpinMode: true,
    ipam: {
      type: "host-local",
      ranges: [[{ subnet: podNetwork }]],
      routes: [{ dst: "0.0.0.0/0" }],
      // Below /run, so that a reboot of the node releases the addresses of its former pods.
      dataDir: "/run/cni",
    },
  };
  return JSON.stringify({ cniVersion: "1.0.0", name: "local", plugins: [bridgePlugin] }, undefined, 2);
}

export function kubeletConfig(node: number, cgroupRoot: string): string {
  const { address } = nodeAddresses(node);
  return stringify({
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address,
    healthzBindAddress: address,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: `${NODE_FOLDER}/config/ca.crt` },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: `${NODE_FOLDER}/config/kubelet.crt`,
    tlsPrivateKeyFile: `${NODE_FOLDER}/config/kubelet.key`,
    clusterDNS: [DNS_ADDRESS],
    clusterDomain: CLUSTER_DOMAIN,
    resolvConf: `${NODE_FOLDER}/config/resolv.conf`,
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    podLogsDir: KUBELET_LOG_FOLDER,
    staticPodPath: "",
    maxPods: 200,
    // Many machines still have cgroup v1. All cgroups of the node are below its own root.
    cgroupDriver: "cgroupfs",
    cgroupRoot,
    cgroupsPerQOS: true,
    failCgroupV1: false,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    // A node may lack rights that root has on a real machine: with this gate, errors about kernel settings are not
    // fatal.
    featureGates: { KubeletInUserNamespace: true },
    evictionHard: { "memory.available": "50Mi", "nodefs.available": "200Mi", "imagefs.available": "200Mi" },
    // Images come from files: one that the kubelet removes to save space could not be pulled again.
    imageGCHighThresholdPercent: 100,
    serializeImagePulls: false,
    // The kubelet renews its lease after a quarter of this, 3 s. A node is NotReady after 20 s (control-plane.ts).
    nodeLeaseDurationSeconds: 12,
    nodeStatusUpdateFrequency: "2s",
    // Changed Secrets and ConfigMaps appear in pods within seconds instead of a minute.
    syncFrequency: "5s",
    // `node stop` is a power cut, without a shutdown of pods.
    shutdownGracePeriod: "0s",
  });
}

/** Flags of a node's kubelet. */
export function kubeletFlags(node: number): string[] {
  return [
    `--config=${NODE_FOLDER}/config/kubelet.yaml`,
    `--kubeconfig=${NODE_FOLDER}/config/kubeconfig`,
    `--hostname-override=node-${node}`,
    `--node-ip=${nodeAddresses(node).address}`,
    `--node-labels=topology.kubernetes.io/zone=zone-${node},topology.kubernetes.io/region=local`,
  ];
}

/** Text of the /etc/resolv.conf for pods and for programs inside the namespace. */
export function resolvConfText(): string {
  return `nameserver ${DNS_ADDRESS}\nsearch svc.${CLUSTER_DOMAIN} ${CLUSTER_DOMAIN}\noptions ndots:5\n`;
}

/**
 * Shell script that sets up a node in its new mount and process namespaces, and then becomes the process that holds
 * them. Arguments: the node's state folder, the folder of the binaries, and the pause program's path below it.
 */
export const NODE_SCRIPT = `set -e
# Mounts of the node stay inside the node. They propagate to its containers, as on a real machine.
mount --make-rprivate / && mount --make-rshared /
mount -t tmpfs -o mode=755,size=1m node /mnt
mkdir ${NODE_FOLDER} ${NODE_BINARIES}
mount --bind "$1" ${NODE_FOLDER}
mount --bind "$2" ${NODE_BINARIES}
mount -t tmpfs -o mode=755 node /run
mount -t tmpfs -o mode=755 node /var/lib
mount -t tmpfs -o mode=755 node /var/log
mkdir -p /var/lib/kubelet /var/lib/containerd ${KUBELET_LOG_FOLDER}
mount --bind ${NODE_FOLDER}/kubelet /var/lib/kubelet
mount --bind ${NODE_FOLDER}/containerd /var/lib/containerd
mount --bind ${NODE_FOLDER}/log ${KUBELET_LOG_FOLDER}
# The kubelet would change kernel settings of the whole machine. Files with the values that it wants hide the real ones.
while read -r setting wanted; do
  echo "$wanted" > "/run/$(basename "$setting")"
  mount --bind "/run/$(basename "$setting")" "/proc/sys/$setting"
done <<END
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
END
touch /run/node-is-set-up
exec "${NODE_BINARIES}/$3"
`;
