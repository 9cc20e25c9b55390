import {
  CLIENT_PORT,
  CLIENT_PORT_NAME,
  DATA_VOLUME,
  ETCD_CONTAINER,
  METRICS_PORT,
  METRICS_PORT_NAME,
  memberLabels,
  memberSelector,
  PEER_PORT,
  PEER_PORT_NAME,
  peerHost,
  REVISION_ANNOTATION,
  VOLUME_PATH,
} from "#api/names.ts";
import { mergePodTemplate } from "#api/pod-template/merge.ts";
import { whyNotTemplate } from "#api/pod-template/reserved.ts";
import { revisionOf } from "#api/revision.ts";
import type { EtcdPeerSpec } from "#api/v1beta1/peer.ts";
import type { Pod } from "#kube/kinds.ts";
import { GRACE_SECONDS, lifecycle } from "#peer/desired/ending.ts";
import { etcdEnvironment, startAnnotations } from "#peer/desired/etcd-flags.ts";
import { extraArguments } from "#peer/desired/etcd-options.ts";
import { probes } from "#peer/desired/probes.ts";
import { tlsAnnotations, tlsMounts, tlsVolumes } from "#peer/desired/tls.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";

/** User and group of etcd. No image defines this ID, so no other process on a node runs as it. */
const USER_ID = 65_532;

type PodSpec = NonNullable<Pod["spec"]>;

interface PodTemplate {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: PodSpec;
}

/**
 * The pod of a member: restricted pod security, one container, one volume, a fixed host name, merged with the user's
 * template. Admission refuses a forbidden template. If one arrives here, it is ignored as a whole: a part of it is not
 * what the user asked for.
 */
export function podTemplate(snapshot: PeerSnapshot): PodTemplate {
  const { peer } = snapshot;
  const { podTemplate: asked, clusterName } = peer.spec;
  const wanted = whyNotTemplate(asked, clusterName, peer.spec.tls !== undefined).length === 0 ? asked : {};
  const spec = { ...peer.spec, podTemplate: wanted };
  const merged = mergePodTemplate(ownTemplate({ ...snapshot, peer: { ...peer, spec } }, revisionOf(peer.spec)), wanted);
  const { containers, initContainers } = merged.spec;
  return {
    ...merged,
    spec: {
      ...merged.spec,
      containers: containers.map(withoutEscalation),
      ...(Array.isArray(initContainers) ? { initContainers: initContainers.map(withoutEscalation) } : {}),
    },
  };
}

type Container = PodSpec["containers"][number];

/** Forbids privilege escalation for every container by default, as for etcd's own. */
function withoutEscalation(container: Container): Container {
  return { ...container, securityContext: { allowPrivilegeEscalation: false, ...container.securityContext } };
}

/** The template without the user's parts. */
function ownTemplate(snapshot: PeerSnapshot, revision: string): PodTemplate {
  const { peer } = snapshot;
  const { clusterName } = peer.spec;
  const { name } = peer.metadata;
  return {
    metadata: {
      labels: { ...memberLabels(clusterName, name) },
      annotations: { ...startAnnotations(snapshot), ...tlsAnnotations(peer.spec), [REVISION_ANNOTATION]: revision },
    },
    spec: {
      hostname: name,
      subdomain: clusterName,
      hostAliases: [ownName(snapshot)],
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: GRACE_SECONDS,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: USER_ID,
        runAsGroup: USER_ID,
        fsGroup: USER_ID,
        fsGroupChangePolicy: "OnRootMismatch",
        seccompProfile: { type: "RuntimeDefault" },
      },
      topologySpreadConstraints: spreadOut(clusterName),
      ...pullSecrets(peer.spec),
      containers: [etcdContainer(snapshot)],
      volumes: [{ name: DATA_VOLUME, persistentVolumeClaim: { claimName: name } }, ...tlsVolumes(peer.spec)],
    } as PodSpec,
  };
}

/**
 * Resolves the member's own name without DNS. A joining member looks its name up and waits a second when it is unknown
 * (pkg/netutil/netutil.go in etcd). DNS has it only after the kubelet has reported the running pod.
 */
function ownName({ peer }: PeerSnapshot) {
  const { namespace, name } = peer.metadata;
  return { ip: "127.0.0.1", hostnames: [peerHost(namespace, peer.spec.clusterName, name)] };
}

/** The image by digest, or by the tag of etcd's official images. */
function imageOf({ peer, imageRepository }: PeerSnapshot): string {
  const { image = {}, version } = peer.spec;
  const repository = image.repository ?? imageRepository;
  return image.digest === undefined ? `${repository}:v${version}` : `${repository}@${image.digest}`;
}

function pullSecrets({ image }: EtcdPeerSpec): Pick<PodSpec, "imagePullSecrets"> {
  return image?.pullSecrets === undefined ? {} : { imagePullSecrets: image.pullSecrets };
}

function etcdContainer(snapshot: PeerSnapshot) {
  const { spec } = snapshot.peer;
  const args = extraArguments(spec);
  return {
    name: ETCD_CONTAINER,
    image: imageOf(snapshot),
    imagePullPolicy: spec.image?.pullPolicy ?? "IfNotPresent",
    command: ["etcd"],
    ...(args.length === 0 ? {} : { args }),
    // etcd logs why it exits in its last lines; this puts them into the pod's status.
    terminationMessagePolicy: "FallbackToLogsOnError",
    env: etcdEnvironment(snapshot),
    ports: [
      { name: CLIENT_PORT_NAME, containerPort: CLIENT_PORT, protocol: "TCP" },
      { name: PEER_PORT_NAME, containerPort: PEER_PORT, protocol: "TCP" },
      { name: METRICS_PORT_NAME, containerPort: METRICS_PORT, protocol: "TCP" },
    ],
    ...probes(snapshot.peer),
    ...lifecycle(spec),
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    volumeMounts: [{ name: DATA_VOLUME, mountPath: VOLUME_PATH }, ...tlsMounts(spec)],
  };
}

/** Spreads members over nodes and zones if possible. With fewer nodes than members all of them still start. */
function spreadOut(clusterName: string): NonNullable<PodSpec["topologySpreadConstraints"]> {
  return ["topology.kubernetes.io/zone", "kubernetes.io/hostname"].map((topologyKey) => ({
    topologyKey,
    maxSkew: 1,
    whenUnsatisfiable: "ScheduleAnyway" as const,
    labelSelector: { matchLabels: { ...memberSelector(clusterName) } },
  }));
}
