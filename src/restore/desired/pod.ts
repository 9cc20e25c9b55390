import { agentContainer, type Container, etcdContainer, etcdutlContainer } from "#agent-job/containers.ts";
import { agentSettings, type JobPodTemplate, podFields } from "#agent-job/pod-template.ts";
import { destinationVolumes, encryptionVolumes, type Mounted } from "#agent-job/volumes.ts";
import {
  BASE_CONTAINER,
  DATA_VOLUME,
  ETCDUTL_CONTAINER,
  FETCH_CONTAINER,
  FINISH_CONTAINER,
  peerHost,
  REPLAY_CONTAINER,
  REPLICA_CONTAINER,
  VOLUME_PATH,
} from "#api/names.ts";
import type { Pod } from "#kube/kinds.ts";
import { memberPod } from "#restore/desired/member.ts";
import { placementOf } from "#restore/desired/placement.ts";
import {
  baseArguments,
  etcdutlArguments,
  fetchTask,
  finishTask,
  replayTask,
  replicaArguments,
  untilOf,
} from "#restore/desired/tasks.ts";
import type { SourceObject } from "#restore/object.ts";
import type { RestoredMember, RestoreSnapshot } from "#restore/snapshot.ts";

// Why three containers, and in this order?
//   The agent reads the object store and verifies checksums. Only etcdutl of the cluster's own release can write etcd's
//   files. It is in etcd's image, which any user may choose, so its container has the volume and no Secret. The last
//   container moves the finished data to etcd's data directory in one rename.
// How does a restore reach a point in time?
//   Between the first two, etcdutl builds a throw-away etcd from the snapshot. It runs as a sidecar until the pod ends;
//   the agent replays the archived changes to it and saves its snapshot. The remaining steps are the same.

/** Time for an interrupted download to stop, in seconds. */
const GRACE_SECONDS = 10;

type PodSpec = NonNullable<Pod["spec"]>;

/** The pod that fills a member's claim. @param labels of this pod */
export function podSpec(
  snapshot: RestoreSnapshot,
  { name }: RestoredMember,
  object: SourceObject,
  image: string,
  labels: Readonly<Record<string, string>>,
): PodSpec {
  const { metadata, spec } = snapshot.restore;
  const { podTemplate, clusterTemplate } = spec;
  const { metadata: of, spec: member } = memberPod(snapshot, name);
  // The operator's own container comes first; users may add containers after it.
  const [etcd] = member.containers;
  const data: Mounted = {
    volume: { name: DATA_VOLUME, persistentVolumeClaim: { claimName: name } },
    mount: { name: DATA_VOLUME, mountPath: VOLUME_PATH },
  };
  const source = [
    ...readOnly(destinationVolumes(object.target, podTemplate)),
    ...encryptionVolumes(object.keySecretRef),
  ];
  const agent = { image, ...agentSettings(podTemplate) };
  const until = untilOf(snapshot);
  const tool = {
    image: etcd?.image ?? "",
    pullPolicy: etcd?.imagePullPolicy,
    resources: etcd?.resources as Parameters<typeof etcdutlContainer>[0]["resources"],
    volumes: [data],
  };
  const fetching = { ...agent, name: FETCH_CONTAINER, task: fetchTask(snapshot, object), volumes: [data, ...source] };
  const finishing = { ...agent, name: FINISH_CONTAINER, task: finishTask(snapshot), volumes: [data] };
  return {
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    ...podFields(podTemplate),
    ...placementOf(member, of.labels, labels),
    ...pullSecretsOf(member, podTemplate),
    securityContext: usersOf(member, etcd),
    // etcdutl resolves the member's own name, which no Service publishes yet.
    hostAliases: [{ ip: "127.0.0.1", hostnames: [peerHost(metadata.namespace, clusterTemplate.clusterName, name)] }],
    initContainers: [
      agentContainer(fetching),
      ...(until === undefined
        ? []
        : [
            etcdutlContainer({ ...tool, name: BASE_CONTAINER, args: baseArguments(snapshot) }),
            sidecar(etcdContainer({ ...tool, name: REPLICA_CONTAINER, args: replicaArguments(snapshot) })),
            agentContainer({
              ...agent,
              name: REPLAY_CONTAINER,
              task: replayTask(snapshot, object, until),
              volumes: [data, ...source],
            }),
          ]),
      etcdutlContainer({ ...tool, name: ETCDUTL_CONTAINER, args: etcdutlArguments(snapshot, name) }),
    ],
    containers: [agentContainer(finishing)],
    volumes: [data, ...source].map(({ volume }) => volume),
  } as PodSpec;
}

/** Secrets for pulling etcd's image and the operator's. */
function pullSecretsOf({ imagePullSecrets = [] }: PodSpec, template: JobPodTemplate): Partial<PodSpec> {
  const all = [...imagePullSecrets, ...(template?.spec?.imagePullSecrets ?? [])];
  const byName = new Map(all.map((each) => [each.name, each]));
  return byName.size === 0 ? {} : { imagePullSecrets: [...byName.values()] };
}

/** A sidecar runs beside the later containers and ends after the last one. */
function sidecar(container: Container): Container {
  return { ...container, restartPolicy: "Always" } as Container;
}

/** Files get the owner and group that the member's etcd will have. */
function usersOf({ securityContext: pod }: PodSpec, etcd: Container | undefined): PodSpec["securityContext"] {
  const { runAsUser = pod?.runAsUser, runAsGroup = pod?.runAsGroup } = etcd?.securityContext ?? {};
  const { fsGroup, fsGroupChangePolicy, supplementalGroups } = pod ?? {};
  const said = { runAsUser, runAsGroup, fsGroup, fsGroupChangePolicy, supplementalGroups };
  return {
    runAsNonRoot: true,
    ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)),
    seccompProfile: { type: "RuntimeDefault" },
  };
}

/** Mounts the volumes read-only: a restore never writes to its source. */
function readOnly(volumes: readonly Mounted[]): readonly Mounted[] {
  return volumes.map(({ volume, mount }) => ({ volume, mount: { ...mount, readOnly: true } }));
}
