import {
  CLIENT_PORT,
  CLIENT_PORT_NAME,
  ETCD_CONTAINER,
  METRICS_PORT,
  METRICS_PORT_NAME,
  memberLabels,
  memberSelector,
  PEER_PORT,
  PEER_PORT_NAME,
  peerHost,
  REVISION_ANNOTATION,
} from "#api/names.ts";
import { revisionOf } from "#api/revision.ts";
import type { Pod } from "#kube/kinds.ts";
import { etcdEnvironment, startAnnotations, VOLUME_PATH } from "#peer/desired/etcd-flags.ts";
import { livenessProbe, readinessProbe, startupProbe } from "#peer/desired/probes.ts";
import type { PeerSnapshot } from "#peer/snapshot.ts";

/** The user and group belong to nobody: no image has them, so nothing else on a node runs as them. */
const USER_ID = 65_532;
/** Time to hand leadership over and to flush, in seconds; etcd needs one or two. */
const GRACE_SECONDS = 30;

type PodSpec = NonNullable<Pod["spec"]>;

interface PodTemplate {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: PodSpec;
}

/** The pod of a member: restricted pod security, one container, one volume, a host name that never changes. */
export function podTemplate(snapshot: PeerSnapshot): PodTemplate {
  const { peer } = snapshot;
  const { clusterName, podTemplate: wanted, version } = peer.spec;
  const { name } = peer.metadata;
  return {
    metadata: {
      labels: { ...memberLabels(clusterName, name) },
      annotations: {
        ...wanted.metadata?.annotations,
        ...startAnnotations(snapshot),
        [REVISION_ANNOTATION]: revisionOf(peer.spec),
      },
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
      ...placement(wanted.affinity, clusterName),
      containers: [etcdContainer(snapshot, `${snapshot.imageRepository}:v${version}`)],
      volumes: [{ name: "etcd-data", persistentVolumeClaim: { claimName: name } }],
    } as PodSpec,
  };
}

/**
 * A member that joins looks its own name up, to find itself among the others, and waits a second when it is not known
 * (pkg/netutil/netutil.go in etcd): DNS has it only after the kubelet has told that the pod runs.
 */
function ownName({ peer }: PeerSnapshot) {
  const { namespace, name } = peer.metadata;
  return { ip: "127.0.0.1", hostnames: [peerHost(namespace, peer.spec.clusterName, name)] };
}

function etcdContainer(snapshot: PeerSnapshot, image: string) {
  const { resources } = snapshot.peer.spec.podTemplate;
  return {
    name: ETCD_CONTAINER,
    image,
    imagePullPolicy: "IfNotPresent",
    command: ["etcd"],
    // etcd says why it ends in its last log lines; this puts them where the operator and people see them.
    terminationMessagePolicy: "FallbackToLogsOnError",
    env: etcdEnvironment(snapshot),
    ports: [
      { name: CLIENT_PORT_NAME, containerPort: CLIENT_PORT, protocol: "TCP" },
      { name: PEER_PORT_NAME, containerPort: PEER_PORT, protocol: "TCP" },
      { name: METRICS_PORT_NAME, containerPort: METRICS_PORT, protocol: "TCP" },
    ],
    startupProbe,
    livenessProbe,
    readinessProbe,
    ...(resources === undefined ? {} : { resources }),
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    volumeMounts: [{ name: "etcd-data", mountPath: VOLUME_PATH }],
  };
}

/**
 * Members are spread over nodes and zones as well as can be, but not at any price: on a cluster with fewer nodes than members all of
 * them still start. An affinity that a person gives replaces this.
 */
function placement(
  affinity: object | undefined,
  clusterName: string,
): Pick<PodSpec, "affinity" | "topologySpreadConstraints"> {
  if (affinity !== undefined) return { affinity };
  const over = (topologyKey: string) => ({
    topologyKey,
    maxSkew: 1,
    whenUnsatisfiable: "ScheduleAnyway" as const,
    labelSelector: { matchLabels: { ...memberSelector(clusterName) } },
  });
  return { topologySpreadConstraints: [over("topology.kubernetes.io/zone"), over("kubernetes.io/hostname")] };
}
